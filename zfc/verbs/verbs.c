#include "zfc/verbs/verbs.h"

static const zf_option
    quiet = {"quiet", 'q', NULL, NULL, "print errors only"},
    verbose = {"verbose", 'v', NULL, NULL, "say more: what is compiled, read and run"},
    json = {"json", 0, NULL, NULL, "print JSON"},
    format_diagnostics = {"format", 0, "FORM", "human|line|json", "how to print diagnostics (default: human)"},
    notes = {"notes", 0, NULL, NULL, "also print notes: which checks stay, and the facts known there"},
    in_place = {"in-place", 'i', NULL, NULL, "rewrite the files instead of printing them"},
    emit = {"emit", 0, "STAGE", "ast|spec|graph|plan|llvm|asm|ptx",
            "print this stage of the compilation instead: of the target nvptx `ptx`, of the others `asm`"},
    target = {"target", 0, "TARGET", "host|nvptx|emu", "what plan and code are for (default: host; of ptx: nvptx)"},
    arch = {"arch", 0, "N", "80|90", "the GPUs that ptx is for: of compute capability 8.0 or 9.0, and later (default: 90)"},
    shaping = {"shaping", 0, "VALUES", NULL,
               "values of the shaping params, in the plan's order, compiled in, with `llvm`, `asm` and `ptx` (default: the "
               "general form)"},
    chunk_threads =
        {"chunk-threads", 0, "N", "1|32",
         "threads of a GPU that walk a chunk of a program without lanes together (default: 32 where it emits ranges)"},
    choose = {"choose", 0, "CHOICES", NULL,
              "how kernels of GPUs are lowered: KERNEL:NAME=VALUE,NAME=VALUE,KERNEL:..., of what `zfc explain --choices` lists "
              "(default: nothing is chosen)"},
    choices = {"choices", 0, NULL, NULL, "list the kernels of a GPU, and what `--choose` may say of each"},
    program_text = {"program", 0, NULL, NULL, "print the program that the file carries, and nothing else"},
    no_lines = {"no-lines", 0, NULL, NULL, "code of GPU kernels without the lines of the program that it came from"},
    codec = {"codec", 'c', "FILE[:TABLE]", NULL, "the program, and the table when it has several"},
    output = {"output", 'o', "PATH", NULL, "where the result goes"},
    header = {"header", 0, "NAMES", NULL, "names of the fields, separated by commas, for text without a header row"},
    delimiter = {"delimiter", 0, "CHAR", NULL, "between the fields of delimited text (default: a comma; `tab` for a tab)"},
    rows_per_block = {"rows-per-block", 0, "N", NULL, "rows of a block, a multiple of 4096 (default: 16 MiB of plain data)"},
    seek_interval = {"seek-interval", 0, "N", "256|512|1024|2048|4096|8192|16384|32768|65536",
                     "elements between the states that ordered stages keep (default: 4096; of scans 1024, or 512 of eight-byte "
                     "elements that nothing but maps is under)"},
    unfused_stages = {"unfused", 0, "STREAMS", NULL,
                      "ordered stages that get kernels and states of their own, by the streams that they make: "
                      "COLUMN.STREAM[.STREAM...] between commas, or `all` (default: none; fused ones are faster on GPUs, on CPUs "
                      "often slower)"},
    force = {"force", 'f', NULL, NULL, "overwrite what exists"},
    threads = {"threads", 0, "N", NULL, "threads to use (default: one per core)"},
    columns = {"columns", 0, "NAMES", NULL, "only these columns, separated by commas"},
    columns_of_one = {"columns", 0, "NAMES", NULL, "only these columns, separated by commas; goes with one container or program"},
    columns_of_file = {"columns", 0, "NAMES", NULL, "only these columns, separated by commas; goes with one container"},
    rows = {"rows", 0, "A..B", NULL, "only rows A up to, not including, B; either may be left out"},
    device = {"device", 0, "DEVICE", NULL, "`auto`, or a name that `zfc devices` lists"},
    format_output = {"format", 0, "FORM", "raw|npy|csv", "of the files written (default: raw)"},
    repeat = {"repeat", 0, "N", NULL, "decode N times and report the fastest (default: 1)"},
    pipeline_order = {"order", 0, "ORDER", "johnson|given|apart",
                      "of the units: by Johnson's rule; as columns are given; as given, and one when the one before is decoded "
                      "(default: johnson)"},
    to = {"to", 0, "PLACE", "device|host", "memory that columns go to (default: the device's, where it has some of its own)"},
    device_staging = {"device-staging", 0, "BYTES", NULL,
                      "memory of the device for units on their way through it (default: 512 MiB)"},
    host_staging =
        {"host-staging", 0, "BYTES", NULL,
         "pinned memory for units on their way to the device; on the CPU how far reading may be ahead (default: 256 MiB)"},
    unit = {"unit", 0, "BYTES", NULL, "stored bytes of a unit, at least a block (default: 32 MiB)"},
    readers = {"readers", 0, "N", NULL, "threads that read and check, at most 64 (default: as many as --threads)"},
    streams = {"streams", 0, "N", NULL, "streams that decode, at most 8 (default: 2)"},
    load = {"load", 0, NULL, NULL, "read the containers into (pinned) memory of the host first: no reading is timed"},
    pipeline_repeat = {"repeat", 0, "N", NULL,
                       "after two runs that do not count run N times, ordered by what those have shown of the device"},
    trace = {"trace", 0, "FILE.json", NULL, "write the last run as a trace that Perfetto and chrome://tracing open"},
    plan = {"plan", 0, NULL, NULL, "decode nothing; print units in their order, with the times that are expected"},
    svg = {"svg", 0, "FILE.svg", NULL, "draw the times of the last run, or with --plan those that are expected"},
    pipeline_verify = {"verify", 0, NULL, NULL, "decode each column alone, too, and compare every byte with the last run's"},
    generate = {"generate", 0, "NAMES", NULL, "measure made columns: names or beginnings of names, or `all`"},
    bench_bytes = {"bytes", 0, "N", NULL, "least size of the buffers of plain data (default: 256 MiB)"},
    repeats = {"repeats", 0, "N", NULL, "rounds that count, at least 5 (default: 9)"},
    bench_threads = {"threads", 0, "N", NULL, "threads that decode (default: 1; the copy has always one)"},
    checksums = {"checksums", 0, NULL, NULL, "also verify the blocks' checksums within the time"},
    general = {"general", 0, NULL, NULL, "kernels for all shaping values instead of those made for the block's"},
    unchecked = {"unchecked", 0, NULL, NULL, "kernels without checks of what streams hold, to see what those cost"},
    unfused = {"unfused", 0, NULL, NULL,
               "a kernel for every stage, each timed alone (by `bench`, besides), to see what fusing is worth"},
    module = {"module", 0, "FILE.zfm", NULL, "take code from this module, and compile nothing; up to 16 times"},
    targets = {"target", 0, "TARGETS", NULL, "what code is for: `host`, `nvptx` or both, separated by a comma (default: both)"},
    cpu = {"cpu", 0, "LEVEL", "x86-64-v2|x86-64-v3|x86-64-v4", "the least CPU that native code runs on (default: x86-64-v3)"},
    time_passes = {"time-passes", 0, NULL, NULL, "say on standard error where the time went; with --json as JSON"},
    tuned = {"tuned", 0, "FILE", NULL,
             "lower kernels of GPUs as this file of `zfc tune -o` says, in place of what is kept for the GPU"},
    untuned = {"untuned", 0, NULL, NULL, "lower kernels of GPUs as by default, whatever `zfc tune` found"},
    budget = {"budget", 0, "TIME", NULL, "stop after so long, such as 5s, 500ms or 2m (default: when all kernels are searched)"},
    probes = {"probes", 0, "N", NULL, "try at most N combinations of a kernel, at most 64 (default: 16)"},
    tune_bytes = {"bytes", 0, "N", NULL,
                  "least size of the plain data that a measurement makes, of at most 4096 copies of a block (default: 512 MiB)"},
    exhaustive = {"exhaustive", 0, NULL, NULL, "measure every combination that can differ, to see how good a search is"},
    show = {"show", 0, NULL, NULL, "measure nothing; print what is known of the device's kernels"},
    replay = {"replay", 0, "FILE.json", NULL, "measure nothing; search the kernels of a record again, which `--json` printed"},
    tuned_output = {"output", 'o', "FILE", NULL, "also write what was found to a file that can be shipped"},
    known = {"tuned", 0, "FILE", NULL, "begin at what this file says, too, and not only at what is kept"},
    no_cache = {"no-cache", 0, NULL, NULL, "neither read nor write the cache of compiled kernels and measured rates"};

const zf_verb zf_verbs[] = {
    {"check",
     "FILE...",
     "check programs",
     "Reads `.zf` files with all that they import and reports every error with its place, the facts known and a hint. "
     "Warnings leave the exit status at 0: of columns that this version cannot compile, and of columns that are not parallel on "
     "GPUs, with the reason and a rewrite. "
     "A column that would store strings or nullable values as they are, whatever alternative is taken, is an error.",
     1,
     -1,
     zf_run_check,
     {&format_diagnostics, &notes, &quiet, NULL}},
    {"fmt",
     "FILE...",
     "print programs in the one canonical layout",
     "Prints each file in the canonical layout, comments kept. With `-i` it rewrites the files that differ.",
     1,
     -1,
     zf_run_fmt,
     {&in_place, &quiet, NULL}},
    {"explain",
     "FILE[:CODEC|:TABLE[.COLUMN]]",
     "say what becomes of a codec: what fuses, how many kernels, which checks",
     "Names a codec, a table (all of its columns) or a column; it may be left out where the program has one table. "
     "Shows, for every column (or the codec) named: its graph with the access and capability of each edge and what follows "
     "from them, the kernels, the bytes that an element costs, and the checks that stay. Shows how each kernel runs on a GPU, "
     "and "
     "where it is not parallel why, with a rewrite. Of a column with alternatives the first is shown. `--emit` prints a stage of "
     "the "
     "compilation instead, `--choices` what is free of the kernels of a GPU.",
     1,
     1,
     zf_run_explain,
     {&json, &emit, &choices, &target, &arch, &shaping, &no_lines, &chunk_threads, &choose, &time_passes, &no_cache, NULL}},
    {"encode",
     "INPUT...",
     "encode tables",
     "Inputs are delimited text files (CSV as RFC 4180 has it: fields may stand in double quotes, a quote within is doubled, "
     "lines end "
     "in LF or CRLF; bytes of strings are kept as they are), or `COLUMN=FILE` with raw little-endian elements or a `.npy` array. "
     "Delimited text "
     "names "
     "its fields in a header row (or `--header`); fields that the table does not name are skipped. Of several text files those "
     "with the same columns are parts of one table, "
     "one after the other, in whatever order they name them; those with different columns stand side by side, have no column in "
     "common, and all must have as many rows. Numbers are decimal; "
     "dates "
     "`YYYY-MM-DD`; timestamps `YYYY-MM-DD HH:MM:SS[.ffffff]`, kept as microseconds since 1970; booleans `true`, `false`, `t`, "
     "`f`, `1`, `0`; a field of one character that is no digit, read into u8, is that byte; an empty field of a nullable column "
     "is null, one of strings that are not nullable an empty string; `\"\"` is an empty string anywhere. A blank line of a table "
     "of "
     "several columns is left out; of one nullable column it is a null, of another one an error. A raw boolean is one byte, 0 or "
     "1: not the bitmap that `decode` writes, but what it writes as `.npy`. Raw strings "
     "are two files: `COLUMN.offsets=FILE` (i64, rows + 1) and "
     "`COLUMN.bytes=FILE`; raw nulls `COLUMN.valid=FILE`, a bitmap; each of them may also be the `.npy` array that `decode` "
     "writes; what stands in a row that is null is not kept. Every block "
     "is decoded and compared before it is written, "
     "and the file gets its name when it is complete.",
     1,
     -1,
     zf_run_encode,
     {&codec, &output, &header, &delimiter, &rows_per_block, &seek_interval, &unfused_stages, &force, &threads, &json, &quiet,
      &verbose, &time_passes, &no_cache, NULL}},
    {"compile",
     "FILE[:TABLE]|IN.zfd",
     "compile a module, with which files decode where no compiler is",
     "Of a program it compiles the tables (or the one named), every column in the general form, which serves any file of the "
     "table. "
     "Of a file it compiles the table that it holds, from the text that the file carries, and besides what is specialised on "
     "the params that occur in it. Code for CPUs is for x86-64 machines of `--cpu` and later ones, code for GPUs is PTX for "
     "compute "
     "capability 8.0 and 9.0, of which a driver takes the one that suits. The emulated GPU has no code in modules. What cannot "
     "be "
     "compiled is left out: notes on standard error, also under `-q`, and `left_out` of `--json` name table, column and target, "
     "and the exit status stays 0 while any column is left. Of a column at most 64 ways to take its alternatives are compiled, "
     "those of the file first, and of each at most 64 tuples of params; blocks with other tuples use the general form. A module "
     "is code: load only those whose maker is trusted.",
     1,
     1,
     zf_run_compile,
     {&output, &targets, &cpu, &force, &threads, &json, &quiet, &verbose, &time_passes, &no_cache, NULL}},
    {"decode",
     "IN.zfd",
     "decode columns into files",
     "Raw files are named `COLUMN.TYPE`: `l_orderkey.i64`; dates `.date32`, timestamps `.timestamp`, decimals `.decimal` (i64), "
     "booleans `.bool` (a bitmap); strings `.offsets` (i64, rows + 1) and `.bytes`; nullable columns also `.valid` (a bitmap, "
     "least significant bit first). `--format csv` writes one file named after the table. "
     "Files get their names when every column is decoded: after an error none is there. While a column is written the next one "
     "is "
     "decoded, where both together have at most 1 GiB (not for csv, which is made of slices of rows).",
     1,
     1,
     zf_run_decode,
     {&output, &columns, &rows, &device, &module, &chunk_threads, &tuned, &untuned, &choose, &format_output, &force, &threads,
      &json, &quiet, &verbose, &time_passes, &no_cache, NULL}},
    {"verify",
     "IN.zfd",
     "decode everything and check it",
     "Checks the index, every block's checksum, and decodes every column on the device, which checks all that depends on data. "
     "Every column is tried, also after a bad one; `--json` says of each whether it is good, and what its error is.",
     1,
     1,
     zf_run_verify,
     {&columns, &device, &module, &tuned, &untuned, &repeat, &threads, &json, &quiet, &verbose, &time_passes, &no_cache, NULL}},
    {"pipeline",
     "IN.zfd...",
     "bring columns of several containers through reading, copying and decoding, overlapped",
     "Columns are cut into units, runs of blocks, which go through the pipeline of the library (docs/pipeline.md) into memory. "
     "Shows when each column was there, and what all took beside what was predicted and the least that any order could take. "
     "Bytes are those of the blocks that have rows wanted. Names of `--columns` are looked for in every container. What comes "
     "before the first byte is read, the device's start and code, is told apart from the runs; code for params that only blocks "
     "far into a column tell is got during the first run: for figures give `--repeat`. A column that fails is told of with its "
     "place, and leaves "
     "the others as they are.",
     1,
     -1,
     zf_run_pipeline,
     {&columns, &rows,          &device,   &to,      &pipeline_order,  &device_staging,  &host_staging, &unit,
      &readers, &streams,       &load,     &plan,    &pipeline_repeat, &pipeline_verify, &trace,        &svg,
      &module,  &chunk_threads, &tuned,    &untuned, &force,           &threads,         &json,         &quiet,
      &verbose, &time_passes,   &no_cache, NULL}},
    {"bench",
     "[IN.zfd...]",
     "measure how fast columns decode",
     "Decodes each column from blocks in the device's memory to the device's memory, without checksums unless asked, in turn "
     "with "
     "a copy of the same plain bytes. Small columns are decoded several times a round, each time from stored bytes and to a "
     "place "
     "of their own, until the buffers are as large as `--bytes` says (but at most 4096 times). One round warms up; then medians "
     "are taken. A GPU is timed by its own clock, behind untimed runs that are still under way when what is timed is queued: "
     "what "
     "the host needs for that does not count. Every byte of every round is compared: with another decode, by code that is not "
     "optimised, or with what the "
     "generator made. GB/s are plain bytes. `of limit` is all bytes read and written a second, by what the copy reads and "
     "writes: "
     "1.00 is as fast as the memory, if the copy is. Look at the load of the machine first; `--json` records it. With `--module` "
     "what "
     "is timed comes from the module; what it is compared with is compiled all the same. With `--unchecked` kernels believe "
     "their "
     "streams: nothing else makes such kernels, each file is decoded with checks before, and the report says so. With "
     "`--unfused` "
     "every stage is a kernel that leaves its elements in memory for the next: files fit whose columns have at most one stage "
     "that "
     "keeps a state.",
     0,
     -1,
     zf_run_bench,
     {&columns_of_file, &generate, &bench_bytes, &repeats,     &bench_threads, &device, &module,
      &checksums,       &general,  &unchecked,   &unfused,     &chunk_threads, &tuned,  &untuned,
      &choose,          &json,     &verbose,     &time_passes, &no_cache,      NULL}},
    {"tune",
     "[IN.zfd|FILE.zf[:TABLE]...]",
     "find how the kernels of columns are lowered best on a GPU",
     "Measures the kernels of each column on the device as by default, and then as a search wants them: with more or fewer "
     "vectors a thread, threads, registers, and other ways to walk chunks, to stage words, to ask ahead. A combination is "
     "compiled, each kernel is timed "
     "alone over copies of a block's rows, and the rows are compared with those by default. What is fastest is kept for the GPU, "
     "its "
     "driver and the shape of the kernel, and is what all later decodes of such kernels use (docs/tuning.md). Of a program, "
     "columns are made up: short runs of small numbers, texts of few words. With `-v` each "
     "measurement is told. The emulated GPU is for trying the command: its times say nothing, and are not kept.",
     0,
     -1,
     zf_run_tune,
     {&columns_of_one, &device, &budget, &probes, &tune_bytes, &known, &exhaustive, &unfused, &show, &replay, &tuned_output,
      &force, &threads, &json, &verbose, &time_passes, &no_cache, NULL}},
    {"inspect",
     "IN.zfd|IN.zfm",
     "show what a container holds, byte by byte, or what a module does",
     "Of a container it shows columns, codecs, which alternatives their blocks took, ratios, blocks with their params, and "
     "accounts "
     "for every byte of the file. Errors of decoding name lines of the program that the file carries: `--program` prints it. Of "
     "a "
     "module it shows tables and columns, and for each target the kernels, how many tuples of params have code of their own, and "
     "bytes; with `-v` also the alternatives and the tuples.",
     1,
     1,
     zf_run_inspect,
     {&columns, &json, &program_text, &verbose, NULL}},
    {"devices",
     "",
     "list devices",
     "Lists the devices that can decode, and why others cannot.",
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
    {"manual", "", "print this manual as Markdown", "docs/zfc.md is this verb's output.", 0, 0, zf_run_manual, {NULL}},
};
const size_t zf_verb_count = sizeof zf_verbs / sizeof zf_verbs[0];
