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

// A file that the server offers to browsers, and its path.
typedef struct {
    const char *path;
    embedded_file content;
} embedded_web_file;

typedef struct {
    const embedded_web_file *files;
    size_t count;
} embedded_web_folder;

// The files of the folder Web, in the order of their paths.
extern const embedded_web_folder embedded_web;
