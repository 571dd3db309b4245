#include "zfc/data/file_kind.h"

#include <stdbool.h>
#include <string.h>

#include "zfc/driver_codes.h"

#define BYTES(text) (text), sizeof(text) - 1

struct zf_file_kind {
    const char *begin;
    size_t length;
    size_t at;       ///< byte where `begin` stands
    size_t least;    ///< bytes of a whole file, at least
    const char *end; ///< the last bytes, which a whole file has; NULL: any
    size_t end_back; ///< bytes behind `end`
    const char *name, *hint;
    /// More than the magic, which is there, as are `least` bytes of a whole file; NULL: nothing more. Integers have such bytes,
    /// too: 559903 begins like gzip, 4411983 like ORC. `count` may be less than `least` if the file is not whole.
    bool (*check)(const unsigned char *bytes, size_t count, bool whole);
};

static const char unpack[] = "unpack it first", convert[] = "convert it to text or .npy arrays first",
                  other[] = "is it the right file?";

// ---- Checks of what stands behind a magic ----------------------------------------------------------------------

/// Text may begin as this magic does: a control character must be among the first bytes.
static bool has_control(const unsigned char *bytes, size_t count, bool whole) {
    (void)whole;
    for (size_t i = 0; i < count && i < 512; i++) {
        if (bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\r' && bytes[i] != '\n') return true;
    }
    return false;
}

/// A gzip file has flags, the level, the system and, without fields between, the kind of the first block.
static bool is_gzip(const unsigned char *b, size_t count, bool whole) {
    (void)count;
    if (!whole) return true;
    return b[3] < 32 && (b[8] == 0 || b[8] == 2 || b[8] == 4) && (b[9] < 14 || b[9] == 255) && (b[3] > 1 || (b[10] & 6) != 6);
}

/// A bzip2 file has a level, and a block or the end of the file begins.
static bool is_bzip2(const unsigned char *b, size_t count, bool whole) {
    (void)whole;
    return count >= 10 && b[3] >= '1' && b[3] <= '9' &&
           (memcmp(b + 4, "1AY&SY", 6) == 0 || memcmp(b + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

/// A DuckDB database has three headers of 4096 bytes. The first has a version of eight bytes, which is small.
static bool is_duckdb(const unsigned char *b, size_t count, bool whole) {
    static const unsigned char zeros[6];
    (void)whole;
    return count >= 3 * 4096 && memcmp(b + 14, zeros, sizeof zeros) == 0;
}

/// A tar header of 512 bytes holds the sum of its bytes as octal digits, with blanks in their place.
static bool is_tar(const unsigned char *header, size_t count, bool whole) {
    enum { HEADER = 512, AT = 148, LENGTH = 8 };
    unsigned long sum = 0, said = 0;
    (void)whole;
    if (count < HEADER) return false;
    for (int i = 0; i < HEADER; i++) sum += i >= AT && i < AT + LENGTH ? ' ' : header[i];
    int at = AT;
    while (at < AT + LENGTH && header[at] == ' ') at++;
    for (; at < AT + LENGTH && header[at] >= '0' && header[at] <= '7'; at++) said = said * 8 + (header[at] - '0');
    return sum == said;
}

// ---- The kinds ------------------------------------------------------------------------------------------------

static const zf_file_kind kinds[] = {
    {BYTES("PAR1"), 0, 12, "PAR1", 0, "a Parquet file", convert, has_control},
    {BYTES("PARE"), 0, 12, "PARE", 0, "an encrypted Parquet file", convert, has_control},
    {BYTES("ARROW1"), 0, 12, NULL, 0, "an Arrow file", convert, has_control},
    {BYTES("FEA1"), 0, 12, "FEA1", 0, "a Feather file", convert, has_control},
    {BYTES("ORC"), 0, 12, "ORC", 1, "an ORC file", convert, has_control},
    {BYTES("Obj\x01"), 0, 16, NULL, 0, "an Avro file", convert, NULL},
    {BYTES("\x89HDF\r\n\x1a\n"), 0, 8, NULL, 0, "an HDF5 file", convert, NULL},
    {BYTES("SQLite format 3\0"), 0, 16, NULL, 0, "an SQLite database", convert, NULL},
    {BYTES("DUCK"), 8, 12288, NULL, 0, "a DuckDB database", convert, is_duckdb},
    {BYTES("PK\x03\x04"), 0, 22, NULL, 0, "a zip or .npz file", "unpack it; give .npy arrays as COLUMN=FILE", NULL},
    {BYTES("PK\x05\x06"), 0, 22, NULL, 0, "an empty zip file", other, NULL},
    {BYTES("\x1f\x8b\x08"), 0, 18, NULL, 0, "a gzip file", unpack, is_gzip},
    {BYTES("\x28\xb5\x2f\xfd"), 0, 9, NULL, 0, "a zstd file", unpack, NULL},
    {BYTES("\xfd"
           "7zXZ\0"),
     0, 32, NULL, 0, "an xz file", unpack, NULL},
    {BYTES("BZh"), 0, 14, NULL, 0, "a bzip2 file", unpack, is_bzip2},
    {BYTES("\x04\x22\x4d\x18"), 0, 11, NULL, 0, "an LZ4 file", unpack, NULL},
    {BYTES("7z\xbc\xaf\x27\x1c"), 0, 32, NULL, 0, "a 7z file", unpack, NULL},
    {BYTES("Rar!\x1a\x07"), 0, 20, NULL, 0, "a RAR file", unpack, NULL},
    {BYTES("ustar"), 257, 512, NULL, 0, "a tar file", unpack, is_tar},
    {BYTES("\x89ZFD"), 0, 64, NULL, 0, "a zipflow container", "`zfc decode` decodes it", NULL},
    {BYTES("\x89ZFM"), 0, 64, NULL, 0, "a zipflow module", "modules hold code, not data", NULL},
    {BYTES("\x89PNG\r\n\x1a\n"), 0, 8, NULL, 0, "a PNG image", other, NULL},
    {BYTES("%PDF-"), 0, 32, NULL, 0, "a PDF file", other, has_control},
    {BYTES("\x7f"
           "ELF"),
     0, 52, NULL, 0, "an ELF program", other, NULL},
};

/// Whether a file with the magic of `kind` is one.
static bool is_good(const zf_file_kind *kind, const char *bytes, size_t count, const char *end, size_t total) {
    if (end != NULL && total < kind->least) return false;
    if (end != NULL && kind->end) {
        size_t length = strlen(kind->end);
        if (memcmp(end - length - kind->end_back, kind->end, length) != 0) return false;
    }
    return kind->check == NULL || kind->check((const unsigned char *)bytes, count, end != NULL);
}

const zf_file_kind *zf_file_kind_of(const char *bytes, size_t count, const char *end, size_t total) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const zf_file_kind *kind = &kinds[i];
        if (count < kind->at + kind->length || memcmp(bytes + kind->at, kind->begin, kind->length) != 0) continue;
        if (is_good(kind, bytes, count, end, total)) return kind;
    }
    return NULL;
}

zf_status zf_file_kind_refuse(const zf_file_kind *kind, const char *path, const char *needed, const char *also, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_OTHER_FORMAT, "%s, not %s", kind->name, needed);
    zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
    return zf_fail_hint(error, ZF_ERR_INPUT, "%s%s", kind->hint, also);
}
