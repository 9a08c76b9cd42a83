#pragma once
#include <stddef.h>

// A file that is part of the program. A C target embeds files, because SwiftPM's `embedInCode` turns each byte into a
// Swift literal, which takes the compiler minutes for a file of 100 KB.
typedef struct {
    const unsigned char *bytes;
    size_t count;
} embedded_file;

// The hand-written part of the OpenAPI document.
extern const embedded_file embedded_openapi_json;
