/* What the files of explain's pipelines share. */
#ifndef CLI_EXPLAIN_PIPELINE_H
#define CLI_EXPLAIN_PIPELINE_H

#include <stdio.h>

#include "lab/explain/pipeline.h"

/* Writes the pipeline as text, at most cli_columns() wide; `all`: all ticks, steps and units. 0 if memory ran out. */
int cli_pipeline_text(const lab_pipeline *pipeline, int all, FILE *to);
/* Writes it as one self-contained HTML page. */
int cli_pipeline_html(const lab_pipeline *pipeline, FILE *to);

/* "producer, warp 8", "group 0, warps 0-3". */
const char *cli_pipeline_role(const lab_pipeline *pipeline, int role, char out[64]);

#endif
