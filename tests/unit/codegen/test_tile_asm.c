// Links: zipflow-compiler zipflow-codegen zipflow-runtime
// Functions in PTX as text of inline assembly: which operand a name becomes, what is local to the statement, what is refused.
#include <string.h>

#include "codegen/codegen_tile.h"
#include "tests/unit/check.h"

static const char ptx[] = "//\n.version 7.8\n.target sm_80\n.address_size 64\n\n"
                          ".global .align 4 .b8 tab[4] = {1, 2};\n.global .align 4 .b8 table[8] = {3};\n"
                          "\t// .globl\tf                // -- Begin function f\n"
                          ".visible .func other()                 // @other\n{\n\tret;\n}\n"
                          ".visible .func f()                 // @f\n"
                          "{\n"
                          "\t.reg .pred \t%p<2>;\n"
                          "\t.reg .b32 \t%r<12>;\n"
                          "\t.loc\t1 2 3\n"
                          "// %bb.0:                                // %entry\n"
                          "\t// begin inline asm\n"
                          "\tmov.b32 %r1, ZF_IN_0;\n"
                          "\t// end inline asm\n"
                          "\tmov.b32 %r11, ZF_IN_1;\n"
                          "\tmov.b32 %r2, ZF_IN_2;\n"
                          "\tmov.u32 \t%r3, %tid.x;\n"
                          "\tsetp.lt.u32 \t%p1, %r1, %r3;\n"
                          "\tmov.u64 \t%r4, table;\n"
                          "\t@%p1 bra \t$L__BB0_2;\n"
                          "\tret;\n"
                          "$L__BB0_2:\n"
                          "\tmov.b32 ZF_OUT_1, %r1;\n"
                          "\tmov.b32 ZF_OUT_0, %r2;\n"
                          "\t@%p1 ret;\n"
                          "                                        // -- End function\n"
                          "}\n";

static void check_text(void) {
    static const char wanted[] = "{\n"
                                 ".global .align 4 .b8 table[8] = {3};\n"
                                 ".reg .pred  %%zf_p<2>;\n"
                                 ".reg .b32  %%zf_r<12>;\n"
                                 "mov.b32 %%zf_r1, %2;\n"
                                 "mov.b32 %%zf_r2, %3;\n"
                                 "mov.u32  %%zf_r3, %%tid.x;\n"
                                 "setp.lt.u32  %%zf_p1, %%zf_r1, %%zf_r3;\n"
                                 "mov.u64  %%zf_r4, table;\n"
                                 "@%%zf_p1 bra  L__BB0_2;\n"
                                 "bra ZF_END;\n"
                                 "L__BB0_2:\n"
                                 "mov.b32 %1, %%zf_r1;\n"
                                 "mov.b32 %0, %%zf_r2;\n"
                                 "@%%zf_p1 bra ZF_END;\n"
                                 "ZF_END:\n"
                                 "}";
    zf_text text = {0};
    zf_error error = {0};
    bool used[3] = {false};
    zf_status status = zf_tile_asm(ptx, "f", 2, 3, used, &text, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    CHECK(status == ZF_OK && strcmp(text.data, wanted) == 0, "%s", status == ZF_OK ? text.data : "");
    CHECK(used[0] && !used[1] && used[2], "%d %d %d", used[0], used[1], used[2]);
    zf_text_free(&text);
}

static void check_refused(const char *body, uint32_t outputs, uint32_t inputs, zf_status wanted, const char *why) {
    zf_text function = {0}, text = {0};
    zf_error error = {0};
    zf_text_printf(&function, ".visible .func f()\n{\n%s\tret;\n}\n", body);
    zf_status status = zf_tile_asm(function.data, "f", outputs, inputs, NULL, &text, &error);
    CHECK(status == wanted && strstr(error.message, why) != NULL, "%d: %s", (int)status, error.message);
    zf_text_free(&function);
    zf_text_free(&text);
}

int main(void) {
    check_text();
    check_refused("\tcall.uni g, ();\n", 0, 0, ZF_ERR_UNSUPPORTED, "calls a function");
    check_refused("\t.local .align 8 .b8 \t__local_depot0[16];\n", 0, 0, ZF_ERR_UNSUPPORTED, "array in memory");
    check_refused("\tld.param.u32 %r1, [f_param_0];\n", 0, 0, ZF_ERR_UNSUPPORTED, "through memory");
    check_refused("\tmov.b32 ZF_OUT_1, %r1;\n", 1, 0, ZF_ERR_INTERNAL, "operand");
    check_refused("\tmov.b32 %r1, ZF_IN_1;\n", 0, 1, ZF_ERR_INTERNAL, "operand");
    zf_text text = {0};
    zf_error error;
    CHECK(zf_tile_asm(ptx, "g", 0, 0, NULL, &text, &error) == ZF_ERR_INTERNAL, "a function that is not there");
    zf_text_free(&text);
    return check_result();
}
