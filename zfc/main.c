// zfc, the program.
#include "zfc/command.h"

int main(int count, char **words) { return zf_command(count, words); }
