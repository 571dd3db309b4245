// A program outside the tree: public headers only.
#include <stdio.h>
#include <string.h>
#include <zipflow/zipflow.h>

int main(void) {
    zf_error error;
    zf_context *context;
    zf_container *container;
    if (zf_context_create(NULL, &context, &error) != ZF_OK) return 1;
    zf_status status = zf_container_open(context, "/dev/null", &container, &error);
    printf("%s %s: %s\n", zf_version(), error.code, error.message);
    zf_context_free(context);
    return status == ZF_ERR_IO && strcmp(error.code, "ZF1201") == 0 ? 0 : 1;
}
