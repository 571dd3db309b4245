#include "frontend/driver/output.h"

zf_status zf_sink_open(const char *path, bool overwrite, zf_sink *out, zf_error *error) {
    *out = (zf_sink){0};
    return zf_output_create(path, (zf_output_options){.overwrite = overwrite}, &out->file, error);
}

zf_status zf_sink_write(zf_sink *sink, const void *bytes, size_t length, zf_error *error) {
    ZF_TRY(zf_output_write(sink->file, sink->offset, bytes, length, error));
    sink->offset += length;
    return ZF_OK;
}

zf_status zf_write_file(const char *path, const void *bytes, size_t length, bool overwrite, zf_error *error) {
    zf_sink sink;
    zf_status status = zf_sink_open(path, overwrite, &sink, error);
    if (status == ZF_OK) status = zf_sink_write(&sink, bytes, length, error);
    if (status == ZF_OK) status = zf_output_commit(sink.file, error);
    zf_output_free(sink.file);
    return status;
}
