#include "embedded_files.h"

// #embed is part of C23, and the compiler offers it for older standards as an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi_json[] = {
#embed "../ScrollbackServer/openapi.json"
};

const embedded_file embedded_openapi_json = {openapi_json, sizeof openapi_json};
