#include "zfc/verbs/encode_report.h"

#include <jansson.h>

#include "runtime/base/error.h"
#include "tuner/tune_json.h"
#include "zfc/report.h"

zf_status zf_stored_sizes(zf_context *context, const char *path, size_t count, zf_encode_stats *stats, zf_error *error) {
    zf_container *container;
    ZF_TRY(zf_container_open(context, path, &container, error));
    zf_status status = ZF_OK;
    for (size_t i = 0; i < count && status == ZF_OK; i++) {
        zf_column_info info = {0};
        status = zf_container_column(container, i, &info, error);
        if (status == ZF_OK) stats[i].stored_bytes = info.stored_bytes;
    }
    zf_container_close(container);
    return status;
}

static double rate(uint64_t bytes, double seconds) { return seconds > 0 ? (double)bytes / seconds / 1e6 : 0; }

zf_status zf_encoded_json(const zf_table *table, const zf_encode_stats *stats, bool wrapped, uint64_t rows, const char *path,
                          zf_error *error) {
    json_t *columns = json_array();
    size_t i = 0;
    for (const zf_column *column = table->columns; column; column = column->next, i++) {
        json_t *one =
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:f}", "column", column->name, "codec", column->codec_text, "plain_bytes",
                      (json_int_t)stats[i].plain_bytes, "stored_bytes", (json_int_t)stats[i].stored_bytes, "blocks",
                      (json_int_t)stats[i].blocks, "verify_seconds", stats[i].verify_seconds);
        if (!wrapped && one) {
            json_object_set_new(one, "encode_seconds", json_real(stats[i].encode_seconds));
            json_object_set_new(one, "encode_mb_per_second", json_real(rate(stats[i].plain_bytes, stats[i].encode_seconds)));
        }
        zf_status status = zf_json_append(columns, one, error);
        if (status != ZF_OK) {
            json_decref(columns);
            return status;
        }
    }
    json_t *all = json_pack("{s:o, s:s, s:I, s:o}", "file", zf_json_text(path), "table", table->name, "rows", (json_int_t)rows,
                            "columns", columns);
    zf_status status = zf_json_print(all, error);
    json_decref(all);
    return status;
}

void zf_encoded_table(const zf_table *table, const zf_encode_stats *stats, bool wrapped) {
    printf("%-18s %10s %10s %8s %12s  %s\n", "column", "plain", "stored", "ratio", wrapped ? "decode MB/s" : "encode MB/s",
           "codec");
    size_t i = 0;
    for (const zf_column *column = table->columns; column; column = column->next, i++) {
        char plain[32], stored[32];
        printf("%-18s %10s %10s %8.2f %12.0f  %s\n", column->name, zf_bytes_text(stats[i].plain_bytes, plain),
               zf_bytes_text(stats[i].stored_bytes, stored),
               (double)stats[i].plain_bytes / (double)(stats[i].stored_bytes ? stats[i].stored_bytes : 1),
               rate(stats[i].plain_bytes, wrapped ? stats[i].verify_seconds : stats[i].encode_seconds), column->codec_text);
    }
}
