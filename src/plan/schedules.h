/* Schedules of one config for one problem: which are legal, which are worth a price, what a launch of one needs, and
 * how users write them ("split-k=4", "cluster-k=2,swap-ab=1", "stream-k=12/132"). Nothing here knows what they cost. */
#ifndef TSR_PLAN_SCHEDULE_H
#define TSR_PLAN_SCHEDULE_H

#include "core/config.h"
#include "core/problem.h"

/* A schedule, and what its launch needs. */
typedef struct tsr_launch_config {
    tsr_schedule schedule;
    tsr_grid grid;          /* x == 0: that of tsr_config_grid */
    int cluster;            /* CTAs along x that form a cluster; 0: the config's */
    size_t workspace_bytes; /* 0: none; otherwise counters included (TSR_WORKSPACE_COUNTER_BYTES) */
    int reduces;            /* 1: the parts' sums stay in the workspace; a split-K reduce (TSR_ROLE_REDUCE) follows */
} tsr_launch_config;

enum { TSR_MOST_SCHEDULES = 24, TSR_SCHEDULE_TEXT_BYTES = 64 };

/* 1 if the config runs the problem by this schedule and computes all of D; otherwise 0 and the rule that it breaks. */
int tsr_schedule_is_legal(const tsr_config *config, const tsr_problem *problem, const tsr_schedule *schedule,
                          char *reason, size_t reason_bytes);

/* What a launch by a legal schedule needs. */
tsr_launch_config tsr_schedule_launch(const tsr_config *config, const tsr_problem *problem,
                                      const tsr_schedule *schedule);

/* The legal schedules that may be the fastest on the device, the one with K whole first. Returns how many. Only that
 * one where TSR_BATCH_INVARIANT is asked for: how K is partitioned depends on M, and with it the order of the sums. */
int tsr_schedule_candidates(const tsr_config *config, const tsr_problem *problem, const tsr_device *device,
                            tsr_schedule out[TSR_MOST_SCHEDULES]);

/* One legal schedule of each kind that the config has, however slow, for tests: K whole, split-K by 2, by an odd number
 * and by the largest, each cluster, stream-K with few and with many units, all of these for both values of swap_ab.
 * Returns how many; K whole is the first. */
int tsr_schedule_kinds(const tsr_config *config, const tsr_problem *problem, tsr_schedule out[TSR_MOST_SCHEDULES]);

/* The schedule as users write it; "whole" if K is whole and the tiles lie as the config lays them. */
void tsr_schedule_text(const tsr_config *config, const tsr_problem *problem, const tsr_schedule *schedule,
                       char out[TSR_SCHEDULE_TEXT_BYTES]);

/* The schedule that `text` asks for. 0 and the reason if it is none, or no legal one. */
int tsr_schedule_parse(const tsr_config *config, const tsr_problem *problem, const char *text, tsr_schedule *out,
                       char *reason, size_t reason_bytes);

/* 1 if the config has kernels for other schedules than K whole. */
int tsr_config_partitions_k(const tsr_config *config);

/* CTAs of the config that an SM holds at once. */
double tsr_ctas_per_sm(const tsr_config *config, const tsr_cuda_limits *gpu);

/* Tiles of D, of all problems of a batch: of CTAs; and of clusters, where a cluster has several tiles. */
double tsr_cta_tiles(const tsr_config *config, const tsr_problem *problem);
double tsr_cluster_tiles(const tsr_config *config, const tsr_problem *problem);

#endif
