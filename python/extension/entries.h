// A table of the entries of a dictionary that is made again of rows. Anybody may have made the rows.
#ifndef ZF_PYTHON_ENTRIES_H
#define ZF_PYTHON_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Entries of a dictionary, found by their bytes.
typedef struct zf_py_entry_table {
    uint64_t seed[2]; ///< random: whoever makes a file cannot choose entries that meet in one slot
    uint32_t *slots;  ///< number of an entry + 1; 0: none
    size_t slot_count;
    char *bytes;
    int64_t *offsets; ///< entries + 1
    size_t bytes_room, offsets_room, count;
} zf_py_entry_table;

/// Makes a table without entries; whether there was memory. Free it with zf_py_entries_free, also after false.
bool zf_py_entries_begin(zf_py_entry_table *t);
/// Returns the number of the first entry of these bytes, from 1; 0: there is none.
uint32_t zf_py_entries_find(const zf_py_entry_table *t, const char *bytes, size_t size);
/// Adds an entry behind the others, also one that is there already: then the first has the slot. Whether there was memory.
bool zf_py_entries_add(zf_py_entry_table *t, const char *bytes, size_t size);
void zf_py_entries_free(zf_py_entry_table *t);

#endif
