/* Which process this is. */
#ifndef TSR_CORE_PROCESS_H
#define TSR_CORE_PROCESS_H

/* Positive, and another number in the child of a fork than in its parent, even where both have one process id: that of
 * the first process of a pid namespace which forks the first one of another, or one that has come round in a long line
 * of daemons. */
int tsr_process(void);

#endif
