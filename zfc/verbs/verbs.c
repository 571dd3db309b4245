#include "zfc/verbs/verbs.h"

#include "runtime/base/abi.h"

_Static_assert(ZF_TUPLES_DEFAULT == 8 && ZF_TUPLES_MOST == 256, "the texts of `--shaping-tuples` and `explain` name both");

static const char target_names[] = "" // "|host|emu...": the names of all targets
#define TARGET(identifier, ...) "|" #identifier
#include "patterns/plan/targets.def"
#undef TARGET
    ;

static const zf_option
    quiet = {"quiet", 'q', NULL, NULL, "print errors only"},
    verbose = {"verbose", 'v', NULL, NULL, "report compiling, reading and running"}, json = {"json", 0, NULL, NULL, "print JSON"},
    format_diagnostics = {"format", 0, "FORM", "human|line|json", "how to print diagnostics (default: human)"},
    notes = {"notes", 0, NULL, NULL, "also print notes: checks that stay, and the facts known there"},
    ignore = {"ignore", 0, "CODES", NULL, "do not print warnings and notes of these codes, such as ZF0806 or ZF0804,ZF0806"},
    in_place = {"in-place", 'i', NULL, NULL, "rewrite the files instead of printing them"},
    emit = {"emit", 0, "STAGE", "ast|spec|graph|plan|llvm|asm|ptx",
            "print this stage of the compilation: `ptx` of the target nvptx, `asm` of the others"},
    target = {"target", 0, "TARGET", target_names + 1, "target of plan and code (default: host; with ptx: nvptx)"},
    arch = {"arch", 0, "N", "80|90", "compute capability that ptx is for, and later ones: 8.0 or 9.0 (default: 90)"},
    shaping = {"shaping", 0, "VALUES", NULL,
               "compile for these values of the shaping params, in the plan's order; with `llvm`, `asm` and `ptx` (default: the "
               "general form)"},
    tuples = {"shaping-tuples", 0, "N", NULL,
              "tuples of shaping values of a column that get code of their own, 1 to 256; blocks with further ones use "
              "the slower general form (default: 8; each tuple is compiled)"},
    chunk_threads = {"chunk-threads", 0, "N", "1|32",
                     "GPU threads that decode a chunk of a program without lanes (default: 32 if it emits ranges)"},
    choose = {"choose", 0, "CHOICES", NULL,
              "lower GPU kernels by these choices: KERNEL:NAME=VALUE,NAME=VALUE,KERNEL:..., from `zfc explain --choices` "
              "(default: none)"},
    choices = {"choices", 0, NULL, NULL, "list the kernels of a GPU, and the values that `--choose` takes for each"},
    html = {"html", 0, NULL, NULL, "print a page of HTML that needs no other file"},
    program_text = {"program", 0, NULL, NULL, "print only the program that the file carries"},
    no_lines = {"no-lines", 0, NULL, NULL, "print code of GPU kernels without line numbers of the program"},
    codec = {"codec", 'c', "FILE[:TABLE]", NULL, "the program, and the table if it has several"},
    output = {"output", 'o', "PATH", NULL, "where to write the result"},
    header = {"header", 0, "NAMES", NULL,
              "names of the fields, separated by commas, for text without a header row; the first row is data (but see "
              "--skip-rows)"},
    skip_rows = {"skip-rows", 0, "N", NULL,
                 "skip the first N rows of each text: rows above the header row or, with --header, that row itself (default: 0)"},
    field = {"field", 0, "COLUMN=FIELD", NULL,
             "take the column from the field that the header calls FIELD (default: the column's name); once for each column"},
    null_word =
        {"null", 0, "WORD", NULL,
         "a field that is null if it is not in quotes, such as NULL, NA or \\N; may be given several times, and '' is the "
         "empty field (default: only the empty field)"},
    raw = {"raw", 0, NULL, NULL, "take files of other formats in COLUMN=FILE as raw elements instead of refusing them"},
    input_memory = {"input-memory", 0, "BYTES", NULL,
                    "memory that inputs may take, such as 4G: batches of rows, or all inputs where one is a pipe (default: three "
                    "quarters of the machine's or of its container's)"},
    query_memory =
        {"input-memory", 0, "BYTES", NULL,
         "memory that all inputs may take, such as 4G (default: three quarters of the machine's or of its container's)"},
    delimiter = {"delimiter", 0, "CHAR", NULL, "character between fields of delimited text (default: a comma; `tab` for a tab)"},
    rows_per_block = {"rows-per-block", 0, "N", NULL,
                      "rows of a block; multiples of 4096 decode fastest (default: 16 MiB of plain data)"},
    seek_interval = {"seek-interval", 0, "N", "256|512|1024|2048|4096|8192|16384|32768|65536",
                     "elements between the states of ordered stages (default: 4096; 1024 for scans; 512 for scans of eight-byte "
                     "elements over maps)"},
    format = {"format", 0, "VERSION", "1|2", "version of the file's format, for readers of version 1 (default: 2)"},
    metadata = {"metadata", 0, "KEY=VALUE", NULL,
                "a key of the table and its value, which the file keeps; may be given several times"},
    zones = {"zones", 0, NULL, NULL, "keep the minimum, the maximum and the nulls of every 65,536 rows, for readers that skip"},
    sizes = {"sizes", 0, "COLUMN=FILE", NULL,
             "the sizes of the column's chunks (default: the file of the chunks with .sizes behind its name, and for `.gz` and "
             "`.zst` files "
             "without it, those that are found); once for each column"},
    dictionary = {"dictionary", 0, "COLUMN=FILE", NULL,
                  "what the column's frames of Zstandard were compressed with; once for each column"},
    rows_of_chunks = {"rows-per-block", 0, "N", NULL,
                      "rows from which on a block takes no more chunks (default: 16 MiB of plain data)"},
    unfused_stages = {"unfused", 0, "STREAMS", NULL,
                      "ordered stages with kernels and states of their own, by their streams: COLUMN.STREAM[.STREAM...] "
                      "separated by commas, or `all` (default: none; fused stages are faster on GPUs, often slower on CPUs)"},
    force = {"force", 'f', NULL, NULL, "overwrite existing files"},
    threads = {"threads", 0, "N", NULL, "threads to use (default: one per core)"},
    columns = {"columns", 0, "NAMES", NULL,
               "only these columns, separated by commas; a name with a comma stands in double quotes"},
    columns_of_one = {"columns", 0, "NAMES", NULL,
                      "only these columns, separated by commas; a name with a comma stands in double quotes; goes with one "
                      "container or program"},
    columns_of_file =
        {"columns", 0, "NAMES", NULL,
         "only these columns, separated by commas; a name with a comma stands in double quotes; goes with one container"},
    rows = {"rows", 0, "A..B", NULL, "only rows from A up to and excluding B; either may be omitted"},
    device = {"device", 0, "DEVICE", NULL, "`auto`, or a name from `zfc devices`"},
    format_output = {"format", 0, "FORM", "raw|npy|csv", "format of the output files (default: raw)"},
    repeat = {"repeat", 0, "N", NULL, "decode N times and report the fastest (default: 1)"},
    pipeline_order =
        {"order", 0, "ORDER", "johnson|given|apart",
         "order of units: by Johnson's rule; as given; as given, one after the other without overlap (default: johnson)"},
    to = {"to", 0, "PLACE", "device|host", "memory that columns go to (default: the device's, if it has its own)"},
    device_staging = {"device-staging", 0, "BYTES", NULL, "device memory for staging units (default: 512 MiB)"},
    host_staging = {"host-staging", 0, "BYTES", NULL,
                    "pinned host memory for staging units; on the CPU, how far reads run ahead (default: 256 MiB)"},
    unit = {"unit", 0, "BYTES", NULL, "stored bytes of a unit, at least a block, such as 64M (default: 32 MiB)"},
    readers = {"readers", 0, "N", NULL, "threads that read and check, at most 64 (default: those of --threads)"},
    streams = {"streams", 0, "N", NULL, "streams that decode, at most 8 (default: 2)"},
    load = {"load", 0, NULL, NULL, "read the containers into (pinned) host memory first: reading is not timed"},
    pipeline_repeat = {"repeat", 0, "N", NULL, "time N runs after two warm-up runs; measured rates set the order"},
    trace = {"trace", 0, "FILE.json", NULL, "write the last run as a trace for Perfetto and chrome://tracing"},
    plan = {"plan", 0, NULL, NULL, "decode nothing; print the units in order, with predicted times"},
    svg = {"svg", 0, "FILE.svg", NULL, "draw the times of the last run, or with --plan the predicted ones"},
    pipeline_verify = {"verify", 0, NULL, NULL, "also decode each column alone, and compare every byte with the last run"},
    generate = {"generate", 0, "NAMES", NULL, "measure generated columns: names, beginnings of names, or `all`"},
    bench_bytes = {"bytes", 0, "BYTES", NULL, "least size of the buffers of plain data (default: 256 MiB)"},
    repeats = {"repeats", 0, "N", NULL, "timed rounds, at least 5 (default: 9)"},
    bench_threads = {"threads", 0, "N", NULL, "threads that decode (default: 1; the copy always has one)"},
    checksums = {"checksums", 0, NULL, NULL, "also verify the checksums of blocks, within the time"},
    general = {"general", 0, NULL, NULL, "use general kernels instead of those specialised on the shaping values of blocks"},
    unchecked = {"unchecked", 0, NULL, NULL, "compile kernels without checks of stream contents, to measure the cost of checks"},
    unfused = {"unfused", 0, NULL, NULL,
               "compile a kernel for every stage, to measure the gain of fusion; `bench` also times each alone"},
    module = {"module", 0, "FILE.zfm", NULL, "take code from this module, and compile nothing; up to 16 times"},
    module_intervals = {"seek-interval", 0, "N", "256|512|1024|2048|4096|8192|16384|32768|65536",
                        "also compile for files that were encoded with this `--seek-interval`; may be repeated"},
    module_unfused = {"unfused", 0, "STREAMS", NULL,
                      "also compile for files that were encoded with this `--unfused`: COLUMN.STREAM[.STREAM...] separated by "
                      "commas, or `all`; may be repeated"},
    device_functions =
        {"device-functions", 0, NULL, NULL,
         "write a header of CUDA C++ in place of a module: functions with which another kernel decodes tiles of the "
         "file's columns"},
    columns_of_functions = {"columns", 0, "NAMES", NULL,
                            "the columns of --device-functions, separated by commas; a name with a comma stands in double quotes "
                            "(default: all that can be)"},
    targets = {"target", 0, "TARGETS", NULL,
               "targets of the code: `host`, `nvptx` or both, separated by a comma (default: both)"},
    cpu = {"cpu", 0, "LEVEL", "x86-64-v2|x86-64-v3|x86-64-v4", "oldest CPU that native code runs on (default: x86-64-v3)"},
    compile_budget = {"compile-budget", 0, "TIME", NULL,
                      "processor time that compiling a column may take, such as 90s or 5m, or `none` for any (default: 20s)"},
    time_passes = {"time-passes", 0, NULL, NULL, "print to standard error where time went; with --json as JSON"},
    tuned = {"tuned", 0, "FILE", NULL, "use tuned results from this file of `zfc tune -o`, not those in the cache"},
    untuned = {"untuned", 0, NULL, NULL, "ignore tuned results"},
    budget = {"budget", 0, "TIME", NULL, "stop after this time, such as 5s, 500ms or 2m (default: when all searches are done)"},
    probes = {"probes", 0, "N", NULL, "measure at most N combinations of a kernel, at most 64 (default: 16)"},
    tune_bytes = {"bytes", 0, "BYTES", NULL,
                  "least plain data of a measurement, in at most 4096 copies of a block (default: 512 MiB)"},
    exhaustive = {"exhaustive", 0, NULL, NULL, "measure every combination that can differ, to see how good the search is"},
    show = {"show", 0, NULL, NULL, "measure nothing; print earlier results of the device's kernels"},
    replay = {"replay", 0, "FILE.json", NULL, "measure nothing; search the kernels of a record again, from `--json`"},
    tuned_output = {"output", 'o', "FILE", NULL, "also write the results to a file that can be shipped"},
    programs =
        {"programs", 0, "WHICH", "all|known",
         "programs that the file may bring: any, or only those of the library; others are refused before they are compiled "
         "(default: all)"},
    known = {"tuned", 0, "FILE", NULL, "start searches at the results in this file, too"},
    param = {"param", 0, "NAME=VALUE", NULL, "set a param of the query; once for each param"},
    input = {"input", 0, "NAME=FILE", NULL,
             "take an input of the query from a file of its elements, little-endian; bools are a bitmap; once for each input"},
    no_skip = {"no-skip", 0, NULL, NULL, "run also over rows that cannot matter, by the zones of the container"},
    query_output = {"output", 'o', "DIR", NULL, "write each result to a file"},
    no_results = {"no-results", 0, NULL, NULL, "print no results with `--json`, such as large ones that `-o` writes"},
    query_device = {"device", 0, "DEVICE", NULL, "`auto`, or a name from `zfc devices` (default: cpu)"},
    decode_first = {"decode-first", 0, NULL, NULL, "decode columns to the device's memory before the query's kernels begin"},
    from_host = {"from-host", 0, NULL, NULL, "keep columns in pinned host memory, from where each run brings them in units"},
    query_repeat = {"repeat", 0, "N", NULL,
                    "time N more runs on the device, with the columns in its memory or `--from-host`; `--json` prints them"},
    no_cache = {"no-cache", 0, NULL, NULL, "do not read or write the cache of compiled kernels and measured rates"};

const zf_verb zf_verbs[] = {
    {"check",
     "FILE...",
     "check programs",
     "Reads `.zf` files and their imports, and reports every error with its place, the known facts and a hint. Warnings leave "
     "the exit status at 0: they name columns that this version cannot compile, and columns that are not parallel on GPUs, with "
     "the reason and a rewrite. `--ignore ZF0806` silences the latter, and any warning by its code. Stages of the library for "
     "which there is no other, those of `zstd_split`, get a note only. A column that would store "
     "strings or nullable values as they are under every alternative is an error.",
     1,
     -1,
     zf_run_check,
     {&format_diagnostics, &notes, &ignore, &quiet, NULL}},
    {"fmt",
     "FILE...",
     "print programs in the canonical layout",
     "Prints each file in the canonical layout and keeps comments. With `-i` it rewrites the files that differ.",
     1,
     -1,
     zf_run_fmt,
     {&in_place, &quiet, NULL}},
    {"explain",
     "FILE[:CODEC|:TABLE[.COLUMN]|:QUERY]|IN.zfd[:TABLE[.COLUMN]]|ALGORITHM",
     "show how a codec is compiled: fusion, kernels, checks",
     "Takes a codec, a table (all of its columns) or a column; the name may be omitted if the program has one table. An "
     "algorithm of the library, such as `bitpack`, is shown for a type that it takes, without a file. For each column it prints "
     "the graph with the access, capability and decision of each edge, the kernels, the bytes that an element costs, and the "
     "checks that stay. It prints how each kernel runs on a GPU, and for a kernel that is not parallel the reason and a rewrite. "
     "It shows the first alternative of a column. For a file that is encoded it takes the program that the file carries, with "
     "the default seek states, and reads the params of all blocks: it reports how many tuples of shaping values occur, and how "
     "many blocks use general code since only the first 8 tuples (`--shaping-tuples`) get code of their own. `--emit` prints a "
     "stage of the compilation instead, `--choices` the choices of GPU kernels. For a query it prints which columns its kernels "
     "make on a GPU, by the program's codecs, and which are decoded first and why.",
     1,
     1,
     zf_run_explain,
     {&json, &emit, &choices, &programs, &target, &arch, &shaping, &no_lines, &chunk_threads, &tuples, &choose, &compile_budget,
      &time_passes, &no_cache, NULL}},
    {"encode",
     "INPUT...",
     "encode tables",
     "Inputs are delimited text files, or `COLUMN=FILE` with a `.npy` array; any other file is taken as raw little-endian "
     "elements, unless it begins as one of another format (Parquet, Arrow, ORC, zip, gzip, zstd and others). Text is CSV as in "
     "RFC 4180: fields may be in double quotes, a quote inside is doubled, lines end in LF or CRLF; bytes of strings are kept "
     "unchanged. The first row names the fields. With `--header` the first row is data: give it for text without a header row, "
     "or with `--skip-rows 1` in place of the header row. Fields that the table does not have are skipped. Several text files "
     "with the same columns are parts of one table, one after the other. Text files with different columns are side by side: "
     "they have no column in common and the same number of rows. docs/types.md says how fields are read as values, nulls and "
     "rows. A raw boolean is one byte, 0 or 1: the `.npy` form of `decode`, not its bitmap. Raw strings are two files: "
     "`COLUMN.offsets=FILE` (i64, rows + 1) and `COLUMN.bytes=FILE`. Raw nulls are `COLUMN.valid=FILE`, a bitmap. "
     "Lists are `COLUMN.offsets=FILE`, `COLUMN.valid=FILE`, and their values as a column `COLUMN.values`. Each may also "
     "be the `.npy` array that `decode` writes, and dates and timestamps may be arrays of `datetime64`, whose NaT is null. "
     "Values of null rows are not kept. Regular files are read in batches of rows, so a table may be larger than memory. If an "
     "input is a pipe or a device, all inputs are read first, as far as `--input-memory` allows. A block takes the params of an "
     "earlier block if it only needs wider fields for them and "
     "grows by less than 1%, so that fewer kernels are compiled. Every block is decoded and compared before it is written, and "
     "the file gets its name when it is complete. The file also keeps the name of each column's field in the header, where "
     "`--field` gives another.",
     1,
     -1,
     zf_run_encode,
     {&codec,        &output,         &header,        &skip_rows,      &field,          &delimiter,   &null_word, &raw,
      &input_memory, &rows_per_block, &seek_interval, &unfused_stages, &format,         &zones,       &metadata,  &force,
      &threads,      &json,           &quiet,         &verbose,        &compile_budget, &time_passes, &no_cache,  NULL}},
    {"wrap",
     "COLUMN=CHUNKS...",
     "put chunks that others compressed into a container",
     "Writes a container whose columns are chunks that another program compressed: LZ4 blocks, Snappy blocks, any that the "
     "column's codec decodes. The chunks are not touched, and no encoder is needed. CHUNKS has the chunks of a column. A list "
     "has a line for each of them, in the order of rows: its bytes and the rows that it decodes to, separated by spaces, such as "
     "`21077 65536`. Chunks follow each other from the first byte on, unless lines have a third number, the byte at which the "
     "chunk begins; what is between chunks is then left out. `#` begins a comment. A `.gz` or `.zst` file needs no list: if "
     "there is none, and the file begins as one of these, each member of gzip, each block of BGZF and each frame of Zstandard "
     "is a chunk, with the empty members and skippable frames in front of it; the column is of bytes, such as `u8 = gzip` or "
     "`u8 = zstd`. Where the file does not tell sizes (members that are no blocks of BGZF, frames without a content size), zlib "
     "or libzstd finds them, if it is "
     "installed. A file that is cut, has other bytes behind its end, or needs a dictionary that is not given, is an error with "
     "the byte. Damage "
     "within is noticed by checksums with `check: 1`, such as `u8 = gzip(check: 1)`, which every decode then compares; without "
     "it "
     "changed bytes may be wrapped as they are, which a note says, and only those checksums are compared that zlib or libzstd "
     "reads to find sizes. A GPU decodes a chunk of more than 1 MiB slowly, which a note tells, and refuses `chunk: N` "
     "above 16777216. The codec must be a `non_parallel` algorithm "
     "with one stream `u8[] per chunk` and no alternatives, whose `chunk: N` is at least the rows of any chunk. Every block is "
     "decoded before it is written: a chunk whose bytes or sizes are wrong is an error that names it. Rows are not compared with "
     "anything, since their source is not known. One other codec takes frames of Zstandard, `zstd_split(steps: "
     "zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes))`: they are taken apart, so that a GPU decodes "
     "them in parallel, and their checksums are compared. For frames that were compressed with a dictionary name "
     "`zstd_split_dictionary` in its place, and give the dictionary by `--dictionary`; each frame is a chunk "
     "then. The file gets its name when it is complete.",
     1,
     -1,
     zf_run_wrap,
     {&codec, &output, &sizes, &dictionary, &rows_of_chunks, &zones, &force, &threads, &json, &quiet, &verbose, &compile_budget,
      &time_passes, &no_cache, NULL}},
    {"compile",
     "FILE[:TABLE]|IN.zfd",
     "compile a module, so that files decode without a compiler",
     "From a program it compiles all tables (or the named one), every column in the general form, for files with the default "
     "seek states: any params, any alternatives. From a file it compiles the table of the file, from the text that the file "
     "carries, for its seek states, and also code specialised on the params that occur in it. With `--seek-interval` and "
     "`--unfused` the module serves files of these options too, in every combination, at most 17 with the first one. Code for "
     "CPUs is for x86-64 machines of `--cpu` and later. Code for GPUs is PTX for compute capability 8.0 and 9.0; the driver "
     "takes the one that fits. Modules have no code for the emulated GPU. Columns that cannot be compiled are left out: notes on "
     "standard error, also with `-q`, and `left_out` of `--json` name table, column and target. The exit status is 0 if any "
     "column is left. At most 64 combinations of a column's alternatives are compiled, those of the file first, and at most 64 "
     "tuples of params for each; blocks with other tuples use the general form. A module is code: load only modules from makers "
     "that you trust. With `--device-functions` it writes a header for a file: its functions have the decoders of columns as "
     "inline PTX, for the params of the file's blocks (docs/queries.md). Columns must be maps, with blocks of 2,048 rows or a "
     "multiple. One that cannot be in the header is an error if `--columns` names it, and left out if not.",
     1,
     1,
     zf_run_compile,
     {&output, &programs, &module_intervals, &module_unfused, &targets, &cpu, &device_functions, &columns_of_functions, &force,
      &threads, &json, &quiet, &verbose, &compile_budget, &time_passes, &no_cache, NULL}},
    {"decode",
     "IN.zfd",
     "decode columns into files",
     "Raw files are named `COLUMN.TYPE`: `l_orderkey.i64`; dates `.date32`, timestamps `.timestamp`, decimals `.decimal` (i64), "
     "booleans `.bool` (a bitmap). Strings are `.offsets` (i64, rows + 1) and `.bytes`. Lists are `.offsets`, and their values a "
     "column `COLUMN.values`. Nullable columns and lists also have `.valid` (a "
     "bitmap, least significant bit first). `--format csv` writes one file named after the table. Files get their names when "
     "every column is decoded: after an error there are none. While one column is written the next is decoded, if both together "
     "have at most 1 GiB (not for csv, which is written in slices of rows, nor for lists).",
     1,
     1,
     zf_run_decode,
     {&output, &columns, &rows, &device, &module,  &chunk_threads,  &tuples,      &tuned,    &untuned,  &choose, &format_output,
      &force,  &threads, &json, &quiet,  &verbose, &compile_budget, &time_passes, &no_cache, &programs, NULL}},
    {"verify",
     "IN.zfd",
     "decode everything and check it",
     "Checks the index and the checksum of every block, and decodes every column on the device, which checks everything that "
     "depends on data. It goes on after a bad column. `--json` reports for each column whether it is good, and its error.",
     1,
     1,
     zf_run_verify,
     {&columns, &device, &module, &programs, &tuples, &tuned, &untuned, &repeat, &threads, &json, &quiet, &verbose,
      &compile_budget, &time_passes, &no_cache, NULL}},
    {"query",
     "FILE[:QUERY] [IN.zfd]",
     "run a query over the rows of a table, or over pairs",
     "Takes a query of the program (docs/queries.md); the name may be omitted if the program has one query. The columns that it "
     "reads are looked up in the container by their names, and must have the types of the program's table. The container brings "
     "their codecs. A query of pairs reads no container. Rows that cannot change a result or fail a check, by the zones of the "
     "container (`zfc encode --zones`), are neither read nor decoded; `-v` prints how many they are. The CPU runs the query, or "
     "`--device`: a GPU's kernels make the elements of columns whose codecs need no state (maps) and read others decoded. "
     "It prints values, elements that rows changed, and up to 1,000 of the rows that were "
     "selected; `--json` prints all. With `-o` each result is a file `NAME.TYPE` as `decode` writes them, which may be an input "
     "of another query; those of `min` and `max` also have `NAME.valid`, a bit for each element.",
     1,
     2,
     zf_run_query,
     {&param,     &input, &query_memory, &rows,         &no_skip,     &query_device, &decode_first,
      &from_host, &unit,  &query_repeat, &query_output, &no_results,  &programs,     &force,
      &threads,   &json,  &quiet,        &verbose,      &time_passes, &no_cache,     NULL}},
    {"pipeline",
     "IN.zfd...",
     "read, copy and decode columns of several containers, overlapped",
     "Columns are cut into units, runs of blocks, which go through the pipeline of the library (docs/pipeline.md) into memory. "
     "It prints when each column was complete, and the time of all columns beside the predicted time and the least time of any "
     "order. Bytes are those of blocks with requested rows. Names of `--columns` are looked up in every container. The time "
     "before the first byte is read, for the start of the device and for code, is reported apart from the runs. Params that are "
     "first met deep in a column are compiled during the first run: use `--repeat` for figures. A column that fails is reported "
     "with its place; the others go on.",
     1,
     -1,
     zf_run_pipeline,
     {&columns,     &rows,     &device,  &to,       &pipeline_order, &device_staging,  &host_staging,
      &unit,        &readers,  &streams, &load,     &plan,           &pipeline_repeat, &pipeline_verify,
      &trace,       &svg,      &module,  &programs, &chunk_threads,  &tuples,          &tuned,
      &untuned,     &force,    &threads, &json,     &quiet,          &verbose,         &compile_budget,
      &time_passes, &no_cache, NULL}},
    {"bench",
     "[IN.zfd...]",
     "measure how fast columns decode",
     "Decodes each column from blocks in the device's memory to the device's memory, without checksums unless asked, in turn "
     "with a copy of the same plain bytes. Small columns are decoded several times a round, each time from and to memory of "
     "their own, until the buffers are as large as `--bytes` (at most 4096 times). One round warms up; then medians are taken. A "
     "GPU is timed by its own clock, behind untimed runs that still execute while the timed run is enqueued, so host time does "
     "not count. Every byte of every round is compared: with a decode by unoptimised code, or with the generated data. GB/s "
     "count plain bytes. `of limit` is all bytes read and written a second, by those of the copy: 1.00 is as fast as memory, if "
     "the copy is. Check the load of the machine first; `--json` records it. With `--module` the timed code comes from the "
     "module; the code for comparison is compiled. With `--unchecked` kernels trust their streams: only `bench` makes such "
     "kernels, it decodes each file with checks first, and the report says so. With `--unfused` every stage is a kernel that "
     "writes its elements to memory for the next; it takes files whose columns have at most one stage with states.",
     0,
     -1,
     zf_run_bench,
     {&columns_of_file, &generate, &bench_bytes, &repeats,        &bench_threads, &device,   &module, &programs,
      &checksums,       &general,  &unchecked,   &unfused,        &chunk_threads, &tuples,   &tuned,  &untuned,
      &choose,          &json,     &verbose,     &compile_budget, &time_passes,   &no_cache, NULL}},
    {"tune",
     "[IN.zfd|FILE.zf[:TABLE]...]",
     "find the fastest lowering of column kernels on a GPU",
     "Times the kernels of each column on the device, first by default and then as a search asks: with more or fewer vectors a "
     "thread, threads and registers, other ways to walk chunks and to stage words, with and without prefetching. It compiles "
     "each combination, times each kernel alone over copies of a block's rows, and compares the rows with those of the default. "
     "The fastest combination is kept for the GPU, its driver and the shape of the kernel; all later decodes of such kernels use "
     "it (docs/tuning.md). For a program, columns are generated: short runs of small numbers, strings of few words. `-v` prints "
     "each measurement. The emulated GPU is for trying the command: its times say nothing and are not kept.",
     0,
     -1,
     zf_run_tune,
     {&columns_of_one, &device,       &programs, &budget,  &probes, &tune_bytes, &known,          &exhaustive,  &unfused,  &show,
      &replay,         &tuned_output, &force,    &threads, &json,   &verbose,    &compile_budget, &time_passes, &no_cache, NULL}},
    {"inspect",
     "IN.zfd|IN.zfm",
     "show every byte of a container, or the content of a module",
     "For a container it shows columns, codecs, the alternatives that blocks took, ratios and blocks with their params, and "
     "accounts for every byte of the file. It says which algorithms, functions and constants of the file's program are the "
     "library's, by the hash of their text. Decoding errors name lines of the program that the file carries: `--program` prints "
     "it. `--html` prints a page for a browser: columns by size, ratio and time over a link, and where the bytes of each codec "
     "go. For a module it shows tables and columns, and for each target the kernels, the number of tuples of params with code of "
     "their own, and bytes; with `-v` also the alternatives and the tuples.",
     1,
     1,
     zf_run_inspect,
     {&columns, &json, &html, &program_text, &programs, &verbose, NULL}},
    {"devices",
     "",
     "list devices",
     "Lists the devices that can decode, and the reason why others cannot.",
     0,
     0,
     zf_run_devices,
     {&json, NULL}},
    {"completion",
     "SHELL",
     "print a completion script for bash or zsh",
     "For bash: `source <(zfc completion bash)`.",
     1,
     1,
     zf_run_completion,
     {NULL}},
    {"manual", "", "print this manual as Markdown", "Prints docs/zfc.md.", 0, 0, zf_run_manual, {NULL}},
};
const size_t zf_verb_count = sizeof zf_verbs / sizeof zf_verbs[0];
