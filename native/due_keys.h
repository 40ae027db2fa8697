/* The keys of sessions by the times at which they are due. See due_keys.c. */
#ifndef HEADGATE_DUE_KEYS_H
#define HEADGATE_DUE_KEYS_H

#include "native.h"

typedef struct DueKeys DueKeys;
typedef struct DueTimes DueTimes; /* what `DueKeys.until` returns */

/* Return the `DueKeys` whose bound methods `add` and `drop` these functions are, borrowed; NULL if they are others. */
DueKeys *due_keys_of(State *state, PyObject *add, PyObject *drop);

/* `DueKeys.add` and `DueKeys.drop`. Return -1 with an exception. */
int due_add(DueKeys *self, long long time_ms, PyObject *key);
int due_drop(DueKeys *self, PyObject *key);

/* Return an iterator if `until` of the keys has returned it, borrowed; else NULL. `self`: NULL for none. */
DueTimes *due_times_of(DueKeys *self, PyObject *iterator);

/* Take out the keys of the next time, a new list; NULL at the end, or with an exception. */
PyObject *due_next(DueTimes *self, long long *time_ms);

#endif
