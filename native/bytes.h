/* Numbers in bytes, little-endian. */
#ifndef HEADGATE_BYTES_H
#define HEADGATE_BYTES_H

#include "native.h"
#include <stdint.h>

static inline uint64_t load(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static inline void store(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> (8 * i));
}

#endif
