/* The index of timers in memory, for the timers that use it. */
#ifndef HEADGATE_TIMERS_H
#define HEADGATE_TIMERS_H

#include "cells.h"

typedef struct TimerIndex TimerIndex;

/* Whether there are timers; the time of the earliest one. */
int index_head(TimerIndex *index, long long *head_ms);

/* Add or remove the timer of a key. `time`: the integer of `time_ms`. Returns -1 with an exception. */
int index_add(TimerIndex *index, PyObject *time, long long time_ms, PyObject *key);
int index_remove(TimerIndex *index, PyObject *time, long long time_ms, PyObject *key);

/* Remove timers of the earliest time, about `limit` at most. Return their keys: a tuple or a list, which may be empty.
 * There must be timers. */
PyObject *index_pop(TimerIndex *index, Py_ssize_t limit);

#endif
