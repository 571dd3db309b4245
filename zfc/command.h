// The command zfc as a function, for the program and for `python -m zipflow`.
#ifndef ZF_ZFC_COMMAND_H
#define ZF_ZFC_COMMAND_H

/// Runs the command: words[0] is its name, then a verb and its arguments. Returns the exit status (zfc/README.md). Once in a
/// process, on the main thread: signals that would end the process get handlers, which remove half-written files first.
int zf_command(int count, char **words);

#endif
