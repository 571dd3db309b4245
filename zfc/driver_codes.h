// Codes of errors that zfc itself reports about files and arguments; documented in docs/errors.md.
#ifndef ZF_DRIVER_CODES_H
#define ZF_DRIVER_CODES_H

#define ZFC_CANNOT_READ "ZF2001"      // an input file cannot be read
#define ZFC_BAD_FIELD "ZF2002"        // a field does not parse as its column's type
#define ZFC_NO_SUCH_COLUMN "ZF2003"   // a name that the table does not have
#define ZFC_NOT_GIVEN "ZF2004"        // a column of the table that no input gives
#define ZFC_GIVEN_TWICE "ZF2005"      // a column that two inputs give
#define ZFC_ROWS_DIFFER "ZF2006"      // columns with different numbers of rows
#define ZFC_BAD_TEXT "ZF2007"         // delimited text with broken quotes, or without a header
#define ZFC_FIELD_COUNT "ZF2008"      // a row with more or fewer fields than the header
#define ZFC_BAD_NPY "ZF2009"          // a .npy file that is damaged or of another type
#define ZFC_BAD_SIZE "ZF2010"         // a raw file that holds no whole number of elements
#define ZFC_CANNOT_WRITE "ZF2012"     // a directory or path that cannot be written to
#define ZFC_NO_SUCH_TABLE "ZF2013"    // a table or codec that the program does not have
#define ZFC_BAD_ARGUMENT "ZF2014"     // an argument that cannot be read
#define ZFC_NO_MEMORY "ZF2015"        // no memory
#define ZFC_NULL "ZF2016"             // an empty field of a column that is not nullable
#define ZFC_OFFSETS "ZF2017"          // string offsets that do not ascend within the bytes
#define ZFC_NOT_MEASURED "ZF2018"     // what `zfc bench` or `zfc tune` cannot measure
#define ZFC_BENCH_DIFFERS "ZF2019"    // `zfc bench` or `zfc tune` timed kernels whose output is wrong
#define ZFC_PIPELINE_DIFFERS "ZF2020" // `zfc pipeline` brought other bytes than a decode of the column alone

#endif
