#ifndef PENSTOCK_API_H
#define PENSTOCK_API_H

// What there is to ask (OpenAPI), as UTF-8 that ends with a zero.
const char *_Nonnull penstock_api_document(void);

#endif
