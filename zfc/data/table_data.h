// Columns of plain data in memory, as read from files and as given to the encoder.
#ifndef ZF_ZFC_TABLE_DATA_H
#define ZF_ZFC_TABLE_DATA_H

#include "frontend/spec/spec.h"
#include "zfc/data/input_memory.h"

/// The parts of a column. A raw file gives one part; delimited text gives all, and several texts give rows in turn.
typedef enum zf_column_part { ZF_PART_VALUES, ZF_PART_OFFSETS, ZF_PART_VALIDITY, ZF_PART_COUNT } zf_column_part;

/// The input that gave a part.
typedef struct zf_part_giver {
    const char *source; ///< as the user wrote it; the first of several texts; NULL: none yet
    bool is_text;       ///< delimited text, of which more may follow
} zf_part_giver;

/// One column. Its buffers grow by doubling.
typedef struct zf_column_data {
    const char *name;
    const char *field;   ///< its name in the headers of texts: the column's, or that of `--field`
    zf_column_type type; ///< of lists the ends', nullable where they may be null
    zf_list_part part;   ///< ENDS: offsets and a validity, no values of its own; VALUES: the column behind it, with its own rows
    zf_input_memory *memory; ///< of the table
    uint64_t rows;
    char *values;           ///< elements; bool one byte each; of strings the characters
    size_t used, capacity;  ///< bytes of `values`
    int64_t *offsets;       ///< strings and lists: rows + 1
    uint8_t *validity;      ///< nullable: a bitmap
    uint64_t row_capacity;  ///< rows of text that offsets and validity have room for
    size_t raw_valid_bytes; ///< of a validity bitmap from a file or a .npy array
    bool valid_is_array;    ///< validity came as a .npy array
    uint64_t valid_rows;    ///< elements of that array
    size_t raw_offsets_at;  ///< byte of the file where offsets begin
    zf_part_giver givers[ZF_PART_COUNT];
} zf_column_data;

/// How lists are given.
#define ZF_LISTS_HINT "give raw files: COLUMN.offsets=FILE, COLUMN.values=FILE, and COLUMN.valid=FILE"

typedef struct zf_table_data {
    zf_column_data *columns;
    size_t count;
    uint64_t rows;
    zf_input_memory memory; ///< of all buffers of the columns, and of those that read them
} zf_table_data;

/// Makes empty columns for a table, which names them. A column of lists is two: the lists with their validity, and the values.
/// Free `out` with zf_table_data_free; it stays where it is until then.
zf_status zf_table_data_create(const zf_table *table, zf_table_data *out, zf_error *error);
void zf_table_data_free(zf_table_data *data);
zf_column_data *zf_table_data_find(zf_table_data *data, const char *name, size_t length);
/// The column name that is most like another one; NULL: none is like it.
const char *zf_table_data_nearest(const zf_table_data *data, const char *name);
/// The column whose name in headers this is.
zf_column_data *zf_table_data_find_field(zf_table_data *data, const char *field, size_t length);
/// Reads `COLUMN=FIELD`: the column's name in headers.
zf_status zf_table_data_map(zf_table_data *data, const char *mapping, zf_error *error);
/// Checks, after all zf_table_data_map, that no two columns have one name in headers.
zf_status zf_table_data_check_fields(const zf_table_data *data, zf_error *error);

/// Notes that `source` gives a part. An error where another input gave it. A second text adds to the first, which stays the
/// source.
zf_status zf_column_claim(zf_column_data *column, zf_column_part part, const char *source, bool is_text, zf_error *error);

/// Makes room for `bytes` more bytes of values, and with `row` for one more row of offsets or validity.
zf_status zf_column_reserve(zf_column_data *column, size_t bytes, bool row, zf_error *error);
/// Appends one field of text, or a null to a nullable column. If the text does not parse, sets `reason` and returns ZF_ERR_INPUT
/// without filling `error`; otherwise `reason` is NULL.
zf_status zf_column_append_text(zf_column_data *column, const char *text, size_t length, bool null, const char **reason,
                                zf_error *error);

typedef struct zf_delimited_options {
    char delimiter;
    const char *header;            ///< names separated by commas; NULL: the first row
    bool skip;                     ///< `skip_rows` was given, if only as 0
    uint64_t skip_rows;            ///< rows of each text before its header or, with `header`, its data
    const char *const *null_words; ///< fields that are nulls, unless they are in quotes
    size_t null_count;
    bool progress; ///< show progress on standard error
} zf_delimited_options;

/// A file of delimited text that is read in batches of rows.
typedef struct zf_text_reader zf_text_reader;

/// Opens a text, reads its header, and notes that it gives the columns of the header. `path`, `options` and `data` outlive it.
zf_status zf_text_reader_open(const char *path, const zf_delimited_options *options, zf_table_data *data, zf_text_reader **out,
                              zf_error *error);
/// Reads rows into the columns until there are `most_rows`, or `most_bytes` of text. `*rows`: how many; 0: the text has ended.
zf_status zf_text_reader_rows(zf_text_reader *reader, uint64_t most_rows, uint64_t most_bytes, uint64_t *rows, zf_error *error);
/// The first of the texts that give the columns of this one, which may be this one.
const char *zf_text_reader_first(const zf_text_reader *reader);
void zf_text_reader_free(zf_text_reader *reader);

/// Reads a file of delimited text into the columns that its header names.
zf_status zf_read_delimited(const char *path, const zf_delimited_options *options, zf_table_data *data, zf_error *error);

/// Reads `COLUMN[.values][.offsets|.bytes|.valid]=FILE`, raw or `.npy`. Files of other formats are refused, unless `any_format`.
zf_status zf_read_raw(const char *what, size_t name_length, const char *path, bool any_format, zf_table_data *data,
                      zf_error *error);

/// Checks, after all files, that every column is given once and has as many rows as the others.
zf_status zf_table_data_finish(zf_table_data *data, zf_error *error);

// ---- The parts of zf_table_data_finish, for columns that are read in batches ----------------------------------

/// Checks that every column is given, and its characters if it has offsets.
zf_status zf_table_data_check_given(const zf_table_data *data, zf_error *error);
/// Checks that columns, but the values of lists, have as many rows as the first column, and validities as their column.
zf_status zf_table_data_check_rows(const zf_table_data *data, zf_error *error);
/// Checks the size of a column's validity that came as a file.
zf_status zf_column_check_validity(const zf_column_data *column, zf_error *error);
/// Checks `count` offsets that came as a file, from number `first` on. `before`: the offset before them; `bytes`: of all
/// characters, or all values of lists.
zf_status zf_column_check_offsets(const zf_column_data *column, const int64_t *offsets, uint64_t first, uint64_t count,
                                  int64_t before, size_t bytes, zf_error *error);
/// The error that the last offset of a file is not the number of bytes.
zf_status zf_column_bad_last_offset(const zf_column_data *column, int64_t last, size_t bytes, zf_error *error);
/// The error that a column has characters but no offsets.
zf_status zf_column_lacks_offsets(const zf_column_data *column, zf_error *error);
/// Checks that decimals that came as a file have no more digits than their type. `before`: rows of the column before those that
/// it has now.
zf_status zf_column_check_decimals(const zf_column_data *column, uint64_t before, zf_error *error);

#endif
