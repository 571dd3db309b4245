// The codes of errors as numbers: `zf_error.number` of an error with code "ZF1101" is ZF_ERROR_ARGUMENT, 1101. Generated from the
// tables of codes by tests/arch/errors_header.sh. A number never changes its meaning; later versions have more of them.
#ifndef ZIPFLOW_ERRORS_H
#define ZIPFLOW_ERRORS_H

typedef enum zf_error_code {
    /// no error, or one of a program that uses codes of its own
    ZF_ERROR_NONE = 0,

    // Diagnostics of a program's text (ZF0xxx).
    /// a character that starts no token
    ZF_ERROR_PROGRAM_BAD_CHARACTER = 101,
    /// a string or byte literal that does not end
    ZF_ERROR_PROGRAM_UNTERMINATED_STRING = 102,
    /// a number that cannot be read or does not fit 64 bits
    ZF_ERROR_PROGRAM_BAD_NUMBER = 103,
    /// an unknown escape in a string or byte
    ZF_ERROR_PROGRAM_BAD_ESCAPE = 104,
    /// bytes that are not UTF-8
    ZF_ERROR_PROGRAM_BAD_UTF8 = 105,
    /// a token that cannot stand here
    ZF_ERROR_PROGRAM_UNEXPECTED_TOKEN = 110,
    /// a language version that this compiler does not know
    ZF_ERROR_PROGRAM_VERSION = 111,
    /// nesting beyond the limit
    ZF_ERROR_PROGRAM_TOO_DEEP = 112,
    /// a word reserved for a later version
    ZF_ERROR_PROGRAM_RESERVED = 113,
    /// a source beyond the limits on size
    ZF_ERROR_PROGRAM_SOURCE_SIZE = 114,
    /// a name that is not declared
    ZF_ERROR_PROGRAM_UNKNOWN_NAME = 201,
    /// a name declared twice
    ZF_ERROR_PROGRAM_DECLARED_TWICE = 202,
    /// files that import each other
    ZF_ERROR_PROGRAM_IMPORT_CYCLE = 203,
    /// an imported file that cannot be read
    ZF_ERROR_PROGRAM_IMPORT_FAILED = 204,
    /// a name of another kind than is expected here
    ZF_ERROR_PROGRAM_NOT_THAT_KIND = 205,
    /// a type's or primitive's name declared again
    ZF_ERROR_PROGRAM_RESERVED_NAME = 206,
    /// a declaration that hides one of std (note)
    ZF_ERROR_PROGRAM_HIDES_STD = 207,
    /// a member that this thing does not have
    ZF_ERROR_PROGRAM_UNKNOWN_MEMBER = 208,
    /// a function that nothing calls (warning)
    ZF_ERROR_PROGRAM_UNUSED = 209,
    /// an import that names no `.zf` file
    ZF_ERROR_PROGRAM_IMPORT_NAME = 210,
    /// a table's or column's name that is too long for a file
    ZF_ERROR_PROGRAM_NAME_LENGTH = 211,
    /// two types without a common one
    ZF_ERROR_PROGRAM_NO_COMMON_TYPE = 303,
    /// a literal that does not fit its type
    ZF_ERROR_PROGRAM_LITERAL_FIT = 304,
    /// a value used as another type
    ZF_ERROR_PROGRAM_CANNOT_CONVERT = 305,
    /// an index that is not unsigned
    ZF_ERROR_PROGRAM_INDEX_UNSIGNED = 306,
    /// an operation on a type that does not have it
    ZF_ERROR_PROGRAM_BAD_OPERAND = 307,
    /// the wrong number of arguments
    ZF_ERROR_PROGRAM_ARGUMENTS = 308,
    /// a type that does not exist or cannot stand here
    ZF_ERROR_PROGRAM_BAD_TYPE = 309,
    /// a generic that nothing determines
    ZF_ERROR_PROGRAM_GENERIC_NOT_BOUND = 310,
    /// a type that its generic's bound does not admit
    ZF_ERROR_PROGRAM_BOUND_NOT_MET = 311,
    /// a value that must be known when compiling
    ZF_ERROR_PROGRAM_NOT_CONSTANT = 312,
    /// an assignment to something that cannot change
    ZF_ERROR_PROGRAM_NOT_ASSIGNABLE = 313,
    /// a function or statement without the value that is expected
    ZF_ERROR_PROGRAM_NO_VALUE = 314,
    /// a value that is always out of its range
    ZF_ERROR_PROGRAM_OUT_OF_RANGE = 401,
    /// a range without elements
    ZF_ERROR_PROGRAM_EMPTY_RANGE = 402,
    /// a divisor that is always 0
    ZF_ERROR_PROGRAM_DIVISION_BY_ZERO = 403,
    /// a number of bits that may exceed 64
    ZF_ERROR_PROGRAM_BITS_WIDTH = 404,
    /// a check that the facts known do not remove (note)
    ZF_ERROR_PROGRAM_CHECK_STAYS = 490,
    /// a member that its pattern needs
    ZF_ERROR_PROGRAM_MEMBER_MISSING = 501,
    /// `per chunk` outside `non_parallel`
    ZF_ERROR_PROGRAM_PER_CHUNK = 502,
    /// a member that its pattern does not have
    ZF_ERROR_PROGRAM_MEMBER_UNEXPECTED = 503,
    /// a reduction that is not a scan and has no bound
    ZF_ERROR_PROGRAM_NOT_A_SCAN = 504,
    /// an effect in an expression
    ZF_ERROR_PROGRAM_EFFECT = 505,
    /// a function that calls itself
    ZF_ERROR_PROGRAM_RECURSION = 506,
    /// a statement that cannot stand here
    ZF_ERROR_PROGRAM_WRONG_PLACE = 507,
    /// a loop that only a chunk may run
    ZF_ERROR_PROGRAM_UNBOUNDED_LOOP = 508,
    /// an option that the pattern does not have, or a bad value of one
    ZF_ERROR_PROGRAM_PATTERN_OPTION = 509,
    /// a cursor advanced more than once per element
    ZF_ERROR_PROGRAM_CURSOR_TWICE = 512,
    /// a state assigned outside its lane
    ZF_ERROR_PROGRAM_LANE_STATE = 513,
    /// a cursor on a stream that belongs to the whole block
    ZF_ERROR_PROGRAM_BLOCK_CURSOR = 520,
    /// `per column` is reserved
    ZF_ERROR_PROGRAM_PER_COLUMN = 521,
    /// `each` is missing, twice there, or has wrong binders; a result named twice in a `select`, or not at all
    ZF_ERROR_PROGRAM_QUERY_MEMBER = 530,
    /// a result of a kind that does not exist, or that its type cannot have
    ZF_ERROR_PROGRAM_RESULT_KIND = 531,
    /// a statement that is not the one of its result's kind
    ZF_ERROR_PROGRAM_RESULT_STATEMENT = 532,
    /// a result that is read
    ZF_ERROR_PROGRAM_RESULT_READ = 533,
    /// a write to a block-wide stream in `chunks`
    ZF_ERROR_PROGRAM_BLOCK_WIDE_WRITE = 603,
    /// a stream or param that encode never writes
    ZF_ERROR_PROGRAM_NEVER_WRITTEN = 604,
    /// an extern encoder that is not registered, or that cannot run: without its library, or for this algorithm
    ZF_ERROR_PROGRAM_EXTERN_UNKNOWN = 605,
    /// an algorithm without a way to encode
    ZF_ERROR_PROGRAM_NO_ENCODE = 606,
    /// an argument that names no stream or param
    ZF_ERROR_PROGRAM_NO_SUCH_STREAM = 701,
    /// an argument given twice
    ZF_ERROR_PROGRAM_GIVEN_TWICE = 702,
    /// a result type that differs from its edge's
    ZF_ERROR_PROGRAM_EDGE_TYPE = 703,
    /// a constant outside its param's range
    ZF_ERROR_PROGRAM_CONSTANT_RANGE = 704,
    /// a bad chunk size
    ZF_ERROR_PROGRAM_BAD_CHUNK = 705,
    /// a param that both encode and the codec set
    ZF_ERROR_PROGRAM_PARAM_CHOSEN = 706,
    /// more codecs than streams
    ZF_ERROR_PROGRAM_TOO_MANY_ARGUMENTS = 707,
    /// a codec that contains itself
    ZF_ERROR_PROGRAM_CODEC_CYCLE = 708,
    /// a constant given for a stream, or a codec for a param
    ZF_ERROR_PROGRAM_LITERAL_FOR_STREAM = 709,
    /// a table without columns
    ZF_ERROR_PROGRAM_NO_COLUMNS = 710,
    /// a column with other parts than its type has
    ZF_ERROR_PROGRAM_LIST_PARTS = 711,
    /// more shared memory than a block has
    ZF_ERROR_PROGRAM_SHARED_MEMORY = 801,
    /// local arrays above 64 KiB
    ZF_ERROR_PROGRAM_LOCAL_ARRAYS = 802,
    /// a seek state above 256 bytes
    ZF_ERROR_PROGRAM_SEEK_STATE = 803,
    /// a form that this target does not lower
    ZF_ERROR_PROGRAM_NOT_LOWERED = 804,
    /// a body that grows beyond the limit once functions are inlined
    ZF_ERROR_PROGRAM_TOO_LARGE = 805,
    /// a column that one thread a tile or chunk decodes on GPUs (warning)
    ZF_ERROR_PROGRAM_SEQUENTIAL = 806,
    /// a fault of the compiler itself; please report it
    ZF_ERROR_PROGRAM_INTERNAL = 899,

    // Errors of the libraries (ZF06xx, ZF1xxx).
    /// a block that does not decode to the encoded data
    ZF_ERROR_DECODED_DIFFERS = 601,
    /// data that every alternative of a codec refuses
    ZF_ERROR_ALL_REFUSED = 602,
    /// an encoder whose sizes or lengths do not add up to the rows
    ZF_ERROR_SIZES = 607,
    /// an invalid argument
    ZF_ERROR_ARGUMENT = 1101,
    /// no memory
    ZF_ERROR_NO_MEMORY = 1102,
    /// an unknown name of a device
    ZF_ERROR_UNKNOWN_DEVICE = 1103,
    /// a device that this machine does not have
    ZF_ERROR_DEVICE_ABSENT = 1104,
    /// a column that the container does not have
    ZF_ERROR_UNKNOWN_COLUMN = 1105,
    /// rows beyond the end of the column
    ZF_ERROR_ROW_RANGE = 1106,
    /// a buffer that is missing or not aligned
    ZF_ERROR_BUFFER = 1107,
    /// more memory than a device has free
    ZF_ERROR_DEVICE_MEMORY = 1108,
    /// a device whose context is lost, because a kernel or the device failed
    ZF_ERROR_DEVICE_LOST = 1109,
    /// a call that a device's driver refused
    ZF_ERROR_DEVICE_CALL = 1110,
    /// code that a device's driver rejects
    ZF_ERROR_CODE_REJECTED = 1111,
    /// code for another device
    ZF_ERROR_WRONG_DEVICE = 1112,
    /// code for a CPU of a higher level
    ZF_ERROR_CPU_LEVEL = 1113,
    /// a block that is larger than a pipeline's memory
    ZF_ERROR_STAGING = 1114,
    /// a call or a batch that its caller cancelled
    ZF_ERROR_CANCELLED = 1115,
    /// memory that the caller's allocator could not allocate
    ZF_ERROR_ALLOCATOR = 1116,
    /// a buffer that is smaller than the call needs
    ZF_ERROR_BUFFER_SIZE = 1117,
    /// a read function of the caller that returned more bytes than requested
    ZF_ERROR_READER = 1118,
    /// a struct with a size or a member that the library does not know
    ZF_ERROR_STRUCT_SIZE = 1119,
    /// a file that cannot be opened, or mapped on request
    ZF_ERROR_OPEN_FAILED = 1201,
    /// a file that is not a container
    ZF_ERROR_NOT_A_CONTAINER = 1202,
    /// a container of a version that this build does not read
    ZF_ERROR_CONTAINER_VERSION = 1203,
    /// a container that was cut short, or has bytes behind its end
    ZF_ERROR_CONTAINER_CUT = 1204,
    /// a damaged footer or header
    ZF_ERROR_CONTAINER_FOOTER = 1205,
    /// an index whose checksum does not match
    ZF_ERROR_INDEX_CHECKSUM = 1206,
    /// an index that contradicts itself or the file
    ZF_ERROR_INDEX_CONTENT = 1207,
    /// a file that changed while it was open
    ZF_ERROR_FILE_CHANGED = 1208,
    /// a block whose header contradicts its size, its shape or the index
    ZF_ERROR_BLOCK_HEADER = 1209,
    /// a read that the operating system refused
    ZF_ERROR_READ_FAILED = 1210,
    /// a file that is not a module
    ZF_ERROR_NOT_A_MODULE = 1211,
    /// a module of a version that this build does not read
    ZF_ERROR_MODULE_VERSION = 1212,
    /// a module for another version of the interface to kernels
    ZF_ERROR_MODULE_ABI = 1213,
    /// a module that was cut short, or has bytes behind its end
    ZF_ERROR_MODULE_CUT = 1214,
    /// a module whose checksum does not match
    ZF_ERROR_MODULE_CHECKSUM = 1215,
    /// a module that contradicts itself
    ZF_ERROR_MODULE_CONTENT = 1216,
    /// a file of tuned kernels that contradicts its format
    ZF_ERROR_TUNED = 1217,
    /// a file with a program that is not the library's, where only those are admitted
    ZF_ERROR_UNKNOWN_PROGRAM = 1218,
    /// an index, slice or bit range outside its stream
    ZF_ERROR_V01 = 1301,
    /// a cursor that left its chunk
    ZF_ERROR_V02 = 1302,
    /// more elements emitted than the chunk has
    ZF_ERROR_V03 = 1303,
    /// fewer elements emitted than the chunk has
    ZF_ERROR_V04 = 1304,
    /// an element outside its declared range
    ZF_ERROR_V05 = 1305,
    /// a `require` that does not hold
    ZF_ERROR_V06 = 1306,
    /// a division by zero
    ZF_ERROR_V07 = 1307,
    /// `nth_bit` of a bit that is not set
    ZF_ERROR_V08 = 1308,
    /// a tile that does not end in the state that the file holds
    ZF_ERROR_V09 = 1309,
    /// more work than a block or chunk of its size may take
    ZF_ERROR_V10 = 1310,
    /// a param outside its range or type
    ZF_ERROR_V20 = 1320,
    /// a stream whose length differs from its type's
    ZF_ERROR_V21 = 1321,
    /// a chunk directory that contradicts the block
    ZF_ERROR_V22 = 1322,
    /// element counts that contradict the block
    ZF_ERROR_V23 = 1323,
    /// a block whose checksum does not match
    ZF_ERROR_V24 = 1324,
    /// more groups or elements than a block may have
    ZF_ERROR_V25 = 1325,
    /// rows that contradict their zone in the index
    ZF_ERROR_V26 = 1326,
    /// lists whose ends do not fit each other or their values
    ZF_ERROR_V27 = 1327,
    /// a second row that sets an element of a query's result
    ZF_ERROR_V28 = 1328,
    /// no module and no compiler with code for the decode
    ZF_ERROR_NO_CODE = 1401,
    /// seek points at an interval that the code does not support
    ZF_ERROR_SEEK_INTERVAL = 1403,
    /// a result larger than memory can be addressed
    ZF_ERROR_TOO_LARGE = 1404,
    /// a CPU that LLVM has no code generator for
    ZF_ERROR_NO_CODE_GENERATOR = 1405,
    /// a device without memory of its own
    ZF_ERROR_NO_STREAMS = 1406,
    /// a column that no loaded module has
    ZF_ERROR_NOT_IN_MODULE = 1407,
    /// alternatives without code in a module
    ZF_ERROR_NO_CODE_FOR_BRANCHES = 1408,
    /// a kind of device without code in a module
    ZF_ERROR_NO_CODE_FOR_DEVICE = 1409,
    /// a file with seek states of other stages than the code in a module
    ZF_ERROR_NO_CODE_FOR_STAGES = 1410,
    /// a column whose code takes longer to compile than its budget allows
    ZF_ERROR_COMPILE_BUDGET = 1411,
    /// a column with chunks that are too long for a GPU
    ZF_ERROR_LONG_CHUNKS = 1412,
    /// a file with other codes than a header of tile loaders was made for
    ZF_ERROR_TILE_CODES = 1413,
    /// a column whose tiles no other kernel can load
    ZF_ERROR_NO_TILES = 1414,
    /// an output file that already exists
    ZF_ERROR_EXISTS = 1501,
    /// a write that the operating system refused
    ZF_ERROR_WRITE_FAILED = 1502,
    /// an output file that cannot be created
    ZF_ERROR_CREATE_FAILED = 1503,
    /// a finished file that cannot be renamed
    ZF_ERROR_COMMIT_FAILED = 1504,
    /// a column or block that a container cannot hold
    ZF_ERROR_WRITER_INPUT = 1505,
    /// a container that cannot be written after an earlier failure
    ZF_ERROR_WRITER_STOPPED = 1506,
    /// a complete file whose name may not survive a crash
    ZF_ERROR_NAME_NOT_SYNCED = 1507,
    /// a chunk to be wrapped whose sizes, headers or checksum are wrong
    ZF_ERROR_WRAPPED_CHUNK = 1508,
    /// a codec that cannot take chunks that others compressed
    ZF_ERROR_WRAP_CODEC = 1509,
    /// a file in which no chunks can be found: damaged, or of another format
    ZF_ERROR_CHUNK_FILE = 1510,
    /// a file in which chunks are found by a library that is not installed
    ZF_ERROR_CHUNK_LIBRARY = 1511,
    /// a dictionary that is damaged or too large
    ZF_ERROR_CHUNK_DICTIONARY = 1512,
    /// a fault of zipflow itself
    ZF_ERROR_INTERNAL = 1901,
    /// generated code that LLVM refuses
    ZF_ERROR_LLVM = 1902,
    /// a fatal error of LLVM
    ZF_ERROR_LLVM_FATAL = 1903,
    /// a kernel that broke the rules of its device
    ZF_ERROR_KERNEL_FAULT = 1904,

    // Errors of measuring (ZF2xxx).
    /// a column or device that cannot be measured
    ZF_ERROR_MEASURE_NOT_MEASURED = 2018,
    /// timed kernels whose output is wrong
    ZF_ERROR_MEASURE_DIFFERS = 2019,
} zf_error_code;

#endif
