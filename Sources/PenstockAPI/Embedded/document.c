// The document of the API, as it is, in the program (see files.c of the dashboard).
#include "penstock_api.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char document[] = {
#embed "../OpenAPI/openapi.json" suffix(, 0)
};

const char *penstock_api_document(void) { return document; }
