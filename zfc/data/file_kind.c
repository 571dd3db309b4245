#include "zfc/data/file_kind.h"

#include <stdbool.h>
#include <string.h>

#include "zfc/driver_codes.h"

#define BYTES(text) (text), sizeof(text) - 1

struct zf_file_kind {
    const char *begin;
    size_t length;
    size_t at;         ///< byte where `begin` stands
    size_t least;      ///< bytes of a whole file, at least
    const char *end;   ///< the last bytes, which a whole file has; NULL: any
    size_t end_back;   ///< bytes behind `end`
    bool is_printable; ///< text may begin so; a control character must follow in the first bytes
    const char *name, *hint;
};

static const char unpack[] = "unpack it first", convert[] = "convert it to text or .npy arrays first",
                  other[] = "is it the right file?";

// Short magics have more to check: integers have bytes like those of gzip (559903) and of ORC (4411983).
static const zf_file_kind kinds[] = {
    {BYTES("PAR1"), 0, 12, "PAR1", 0, true, "a Parquet file", convert},
    {BYTES("PARE"), 0, 12, "PARE", 0, true, "an encrypted Parquet file", convert},
    {BYTES("ARROW1"), 0, 12, NULL, 0, true, "an Arrow file", convert},
    {BYTES("FEA1"), 0, 12, "FEA1", 0, true, "a Feather file", convert},
    {BYTES("ORC"), 0, 12, "ORC", 1, true, "an ORC file", convert},
    {BYTES("Obj\x01"), 0, 16, NULL, 0, false, "an Avro file", convert},
    {BYTES("\x89HDF\r\n\x1a\n"), 0, 8, NULL, 0, false, "an HDF5 file", convert},
    {BYTES("SQLite format 3\0"), 0, 16, NULL, 0, false, "an SQLite database", convert},
    {BYTES("DUCK"), 8, 12288, NULL, 0, false, "a DuckDB database", convert},
    {BYTES("PK\x03\x04"), 0, 22, NULL, 0, false, "a zip or .npz file", "unpack it; give .npy arrays as COLUMN=FILE"},
    {BYTES("PK\x05\x06"), 0, 22, NULL, 0, false, "an empty zip file", other},
    {BYTES("\x1f\x8b\x08"), 0, 18, NULL, 0, false, "a gzip file", unpack},
    {BYTES("\x28\xb5\x2f\xfd"), 0, 9, NULL, 0, false, "a zstd file", unpack},
    {BYTES("\xfd"
           "7zXZ\0"),
     0, 32, NULL, 0, false, "an xz file", unpack},
    {BYTES("BZh"), 0, 14, NULL, 0, false, "a bzip2 file", unpack},
    {BYTES("\x04\x22\x4d\x18"), 0, 11, NULL, 0, false, "an LZ4 file", unpack},
    {BYTES("7z\xbc\xaf\x27\x1c"), 0, 32, NULL, 0, false, "a 7z file", unpack},
    {BYTES("Rar!\x1a\x07"), 0, 20, NULL, 0, false, "a RAR file", unpack},
    {BYTES("ustar"), 257, 512, NULL, 0, false, "a tar file", unpack},
    {BYTES("\x89ZFD"), 0, 64, NULL, 0, false, "a zipflow container", "`zfc decode` decodes it"},
    {BYTES("\x89ZFM"), 0, 64, NULL, 0, false, "a zipflow module", "modules hold code, not data"},
    {BYTES("\x89PNG\r\n\x1a\n"), 0, 8, NULL, 0, false, "a PNG image", other},
    {BYTES("%PDF-"), 0, 32, NULL, 0, true, "a PDF file", other},
    {BYTES("\x7f"
           "ELF"),
     0, 52, NULL, 0, false, "an ELF program", other},
};

static bool has_control(const char *bytes, size_t count) {
    for (size_t i = 0; i < count && i < 512; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < ' ' && c != '\t' && c != '\r' && c != '\n') return true;
    }
    return false;
}

/// A tar header of 512 bytes holds the sum of its bytes as octal digits, with blanks in their place.
static bool has_tar_sum(const unsigned char *header) {
    enum { AT = 148, LENGTH = 8 };
    unsigned long sum = 0, said = 0;
    for (int i = 0; i < 512; i++) sum += i >= AT && i < AT + LENGTH ? ' ' : header[i];
    int at = AT;
    while (at < AT + LENGTH && header[at] == ' ') at++;
    for (; at < AT + LENGTH && header[at] >= '0' && header[at] <= '7'; at++) said = said * 8 + (header[at] - '0');
    return sum == said;
}

/// Checks more than the magic. Elements need not be so long or so unlike a magic as text.
static bool is_good(const zf_file_kind *kind, const char *bytes, size_t count, bool whole) {
    const unsigned char *b = (const unsigned char *)bytes;
    if (whole && count < kind->least) return false;
    if (whole && kind->end) {
        size_t length = strlen(kind->end);
        if (memcmp(bytes + count - length - kind->end_back, kind->end, length) != 0) return false;
    }
    if (whole && kind->begin[0] == '\x1f') { // gzip: its flags, the level, the system and, if it follows, the first block's kind
        return b[3] < 32 && (b[8] == 0 || b[8] == 2 || b[8] == 4) && (b[9] < 14 || b[9] == 255) && (b[3] > 1 || (b[10] & 6) != 6);
    }
    if (memcmp(kind->begin, "BZh", 3) == 0) {
        return count >= 10 && b[3] >= '1' && b[3] <= '9' &&
               (memcmp(b + 4, "1AY&SY", 6) == 0 || memcmp(b + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
    }
    if (memcmp(kind->begin, "DUCK", 4) == 0) { // a version of eight bytes follows, which is small; three headers of 4096 bytes do
        static const unsigned char zeros[6];
        return count >= kind->least && memcmp(b + 14, zeros, sizeof zeros) == 0;
    }
    if (strncmp(kind->begin, "ustar", 5) == 0) return count >= kind->least && has_tar_sum(b);
    return !kind->is_printable || has_control(bytes, count);
}

const zf_file_kind *zf_file_kind_of(const char *bytes, size_t count, bool whole) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const zf_file_kind *kind = &kinds[i];
        if (count < kind->at + kind->length || memcmp(bytes + kind->at, kind->begin, kind->length) != 0) continue;
        if (is_good(kind, bytes, count, whole)) return kind;
    }
    return NULL;
}

zf_status zf_file_kind_refuse(const zf_file_kind *kind, const char *path, const char *needed, const char *also, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_OTHER_FORMAT, "%s, not %s", kind->name, needed);
    zf_fail_place(error, ZF_ERR_INPUT, "%s", path);
    return zf_fail_hint(error, ZF_ERR_INPUT, "%s%s", kind->hint, also);
}
