// Links: zipflow-frontend
// The matcher, form by form: what each row of its tables accepts, and something near it that it must not.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/check/walk.h"
#include "frontend/spec/spec_internal.h"
#include "tests/support/find_algorithm.h"
#include "tests/unit/check.h"

#define ENCODE " encode extern \"lz4\"; }" // any: no encode body is matched
#define MAP(ports, decode) "algorithm a(" ports ") -> u32[] fully_parallel { " decode ENCODE
#define GROUP(ports, members) "algorithm a(" ports ") -> u32[] group_parallel { " members ENCODE
#define CHUNK(ports, decode) "algorithm a(" ports ") -> u32[] non_parallel(chunk = 1024) { decode { " decode " }" ENCODE
#define LANES(ports, members) "algorithm a(" ports ") -> u32[] non_parallel(chunk = 1024, lanes = 32) { " members ENCODE

/// `want`: what summary() prints; or "ZF0504: part of a remark or of the message".
static const struct {
    const char *form, *text, *want;
} cases[] = {
    // ---- use_forms: s[i] ----
    {"s[i]", MAP("s: u32[]", "decode(i) = s[i];"), "s=i"},
    {"s[i + 1] is a gather", MAP("s: u32[]", "decode(i) = s[i + 1];"), "s=gather"},
    {"s[i] through a let", MAP("s: u32[]", "decode(i) { let k = i; let m = k; return s[m]; }"), "s=i"},
    {"s[i] through a function", MAP("s: u32[]", "fn at(k) = s[k]; fn same(k) = k; decode(i) = at(same(i));"), "s=i"},
    {"s[i] through a cast that keeps it", MAP("s: u32[]", "decode(i) = s[i as i64 as u64];"), "s=i"},
    {"s[i as u16] is a gather", MAP("s: u32[]", "decode(i) = s[i as u16];"), "s=gather"},
    {"s[i + 3 - 3]", MAP("s: u32[]", "decode(i) = s[(i + 3) - 3];"), "s=i"},
    {"s[i * 1]", MAP("s: u32[]", "decode(i) = s[2 * i - i];"), "s=i"},
    {"s[2 * i] is a gather", MAP("s: u32[]", "decode(i) = s[2 * i];"), "s=gather"},
    {"s[0] is a gather", MAP("s: u32[]", "decode(i) = s[0];"), "s=gather"},
    {"s[i] on one branch", MAP("s: u32[], t: bool[]", "decode(i) = t[i] ? s[i] : 0;"), "s=i t=i"},
    {"aligned and gather join to gather", MAP("s: u32[]", "decode(i) = s[i] + s[0];"), "s=gather"},
    {"s[t[i]]: t is aligned", MAP("s: u32[], t: u32[]", "decode(i) = s[t[i]];"), "s=gather t=i"},
    {"the length is no use", MAP("s: u32[], t: u32[]", "decode(i) = s[i] + t.len as u32;"), "s=i t=none"},
    {"s[i] beside a variable index", MAP("s: u32[]", "decode(i) { var k = i; k += 0; return s[k]; }"), "s=gather"},
    // ---- use_forms: s[g] ----
    {"s[g]", GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j) = s[g];"), "s=g n=g"},
    {"s[j] is a gather", GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j) = s[j];"), "s=gather n=g"},
    {"s[i] in a group", GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j, i) = s[i];"), "s=i n=g"},
    {"s[i] and s[g] join to gather",
     GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j, i) = s[i] + s[g];"), "s=gather n=g"},
    {"s[g] of the size and of an element", GROUP("n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j) = n[g];"), "n=g"},
    // ---- use_forms: bits, slices, others ----
    {"bits", MAP("s: u32[]", "decode(i) = s.bits(i * 7, 7) as u32;"), "s=gather+bits"},
    {"a slice", "algorithm a(s: u8[], n: u32[]) -> string[] fully_parallel { decode(i) = s[n[i] .. n[i] + 2];" ENCODE,
     "s=gather n=i"},
    {"a slice's length", MAP("s: u8[], n: u32[]", "decode(i) { let v = s[0 .. n[i]]; return v.len as u32; }"), "s=gather n=i"},
    // ---- use_forms: cursors ----
    {"next", CHUNK("s: u32[] per chunk", "while out.pos < out.len { emit s.next(); }"), "s=cursor+next"},
    {"next and [ ]", CHUNK("s: u32[] per chunk", "while out.pos < out.len { emit s.next() + s[0]; }"), "s=cursor+next"},
    {"next and bits", CHUNK("s: u32[] per chunk", "while out.pos < out.len { emit s.next() + s.bits(0, 3) as u32; }"),
     "s=cursor+bits"},
    {"next and pos", CHUNK("s: u32[] per chunk", "while out.pos < out.len { emit s.next() + s.pos as u32; }"), "s=cursor"},
    {"u8", CHUNK("s: u8[] per chunk", "while out.pos < out.len { emit s.u8() as u32; }"), "s=cursor"},
    {"[ ] of a chunk is a gather", CHUNK("s: u32[] per chunk", "emit k in 0..out.len: s[k];"), "s=gather"},
    {"a cursor on a block-wide stream", CHUNK("s: u32[]", "while out.pos < out.len { emit s.next() + s[0]; }"),
     "ZF0520: whole block"},
    {"s[i] of lanes is a gather",
     LANES("s: u32[] per chunk, t: u32[]", "state x: u32 = 0; decode(i) { x += s.next(); return t[i] + x; }"),
     "s=cursor+next t=gather"},
    {"a state's initialiser", LANES("s: u32[32] per chunk", "state x: u32 = s[lane]; decode(i) { x += 1; return x; }"),
     "s=gather"},

    // ---- bound_forms, UNROLLED ----
    {"unrolled: constants", MAP("s: u32[]", "decode(i) = sum(k in 0..8: s[i * 8 + k]);"), "s=gather unrolled(8)"},
    {"unrolled: 64", MAP("s: u32[]", "decode(i) = max(k in 0..64: s[i * 64 + k]);"), "s=gather unrolled(64)"},
    {"65 are not", MAP("s: u32[]", "decode(i) = max(k in 0..=64: s[i * 65 + k]);"), "ZF0504: 65 terms"},
    {"unrolled: ..=", MAP("s: u32[]", "decode(i) = max(k in 0..=63: s[i * 64 + k]);"), "s=gather unrolled(64)"},
    {"unrolled: a range", MAP("s: u32[], n: u32[]", "decode(i) = max(k in 0..n[i] & 31: s[k]);"), "s=gather n=i unrolled(31)"},
    {"a range too wide", MAP("s: u32[], n: u32[]", "decode(i) = max(k in 0..n[i] & 127: s[k]);"), "ZF0504: 127 terms"},
    {"unrolled: lo .. lo + c", MAP("s: u32[], n: u32[]", "decode(i) = max(k in n[i] as u64 .. n[i] as u64 + 5: s[k]);"),
     "s=gather n=i unrolled(5)"},
    {"unrolled: i * 4 .. i * 4 + 4", MAP("s: u32[]", "decode(i) = max(k in i * 4 .. (i + 1) * 4: s[k]);"),
     "s=gather unrolled(4)"},
    {"unrolled: min", MAP("s: u32[]", "decode(i) = max(k in i * 4 .. min(i * 4 + 9, s.len): s[k]);"), "s=gather unrolled(9)"},
    {"unrolled: a condition", MAP("s: u32[]", "decode(i) = max(k in i .. (s.len > 7 ? i + 3 : i + 6): s[k]);"),
     "s=gather unrolled(6)"},
    {"a condition without a bound", MAP("s: u32[], t: u32[]", "decode(i) = max(k in i .. (t[i] > 7 ? i + 3 : s.len): s[k]);"),
     "ZF0504: terms"},
    {"ends of a variable that changed between",
     MAP("s: u32[]", "decode(i) { var v = i; let a = v; v += 100; return max(k in a .. v + 3: s[k]); }"), "ZF0504: terms"},
    {"unrolled: two binders", MAP("s: u32[]", "decode(i) = max(k in 0..4, m in 0..5: s[k * m]);"), "s=gather unrolled(20)"},
    {"two binders, too many", MAP("s: u32[]", "decode(i) = max(k in 0..9, m in 0..9: s[k * m]);"), "ZF0504: 81 terms"},
    {"nested unrolling has a limit",
     MAP("s: u32[]", "decode(i) = sum(k in 0..64: sum(m in 0..64: sum(n in 0..2: s[k + m + n])));"), "ZF0805: unroll"},

    // ---- SCAN ----
    {"scan: 0..i", MAP("s: u32[]", "decode(i) = sum(k in 0..i: s[k]);"), "s=i scan(i)#0"},
    {"scan: 0..=i", MAP("s: u32[]", "decode(i) = sum(k in 0..=i: s[k]);"), "s=i scan(i,inclusive)#0"},
    {"scan: 0..i + 1", MAP("s: u32[]", "decode(i) = sum(k in 0..i + 1: s[k]);"), "s=i scan(i,inclusive)#0"},
    {"0..i + 2 is a difference", MAP("s: u32[]", "decode(i) = sum(k in 0..i + 2: s[k]);"), "s=gather prefix#0"},
    {"1..i is a difference", MAP("s: u32[]", "decode(i) = sum(k in 1..i: s[k]);"), "s=gather prefix#0"},
    {"scan: any operation", MAP("s: u32[]", "decode(i) = max(k in 0..i: s[k]) + (any(k in 0..i: s[k] == 3) ? 1 : 0);"),
     "s=i scan(i)#0 scan(i)#1"},
    {"max over 1..i is nothing", MAP("s: u32[]", "decode(i) = max(k in 1..i: s[k]);"), "ZF0504: `xor`"},
    {"scan: through a let and a function",
     MAP("s: u32[]", "fn up_to(n) = sum(k in 0..n: s[k]); decode(i) { let m = i; return up_to(m); }"), "s=i scan(i)#0"},
    {"scan: a term of several streams", MAP("s: u32[], t: u32[], param p: u32", "decode(i) = sum(k in 0..i: s[k] * t[k] + p);"),
     "s=i t=i p scan(i)#0"},
    {"scan: a term with statements",
     MAP("s: u32[]", "fn term(k) { let v = s[k]; require v < 9; return v * v; } decode(i) = sum(k in 0..i: term(k));"),
     "s=i scan(i)#0"},
    {"scan: s[k + 1] is a gather", MAP("s: u32[]", "decode(i) = sum(k in 0..i: s[k + 1]);"), "s=gather scan(i)#0"},
    {"a term that uses i", MAP("s: u32[]", "decode(i) = sum(k in 0..i: s[k] * (i as u32));"), "ZF0504: `i`"},
    {"a term that uses i through a let",
     MAP("s: u32[]", "decode(i) { let m = i * 2; return sum(k in 0..i: s[k] + (m as u32)); }"), "ZF0504: `i`"},
    {"a term that uses a variable", MAP("s: u32[]", "decode(i) { var m: u32 = 1; m += 1; return sum(k in 0..i: s[k] * m); }"),
     "ZF0504: `m`"},
    {"scan: over g", GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j) = sum(k in 0..g: s[k]);"),
     "s=g n=g scan(g)#0"},
    {"scan: over i of a group",
     GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j, i) = sum(k in 0..i: s[k]);"), "s=i n=g scan(i)#0"},
    {"0..j is a difference", GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j) = sum(k in 0..j: s[k]);"),
     "s=gather n=g prefix#0"},
    {"equal scans are one", MAP("s: u32[]", "fn start(i) = sum(k in 0..i: s[k]); decode(i) = start(i) ^ (start(i) + 1);"),
     "s=i scan(i)#0 scan(i)#0"},
    {"scans that differ are two", MAP("s: u32[]", "decode(i) = sum(k in 0..i: s[k]) + sum(k in 0..i: s[k] + 1);"),
     "s=i scan(i)#0 scan(i)#1"},
    {"size and decode count on",
     GROUP("n: u32[]", "groups = n.len; size(g) = sum(k in 0..g: n[k]); decode(g, j) = sum(k in 0..g: n[k]);"),
     "n=g scan(g)#0 scan(g)#1"},
    {"a scan selects", MAP("v: bool[], s: u32[]", "decode(i) = v[i] ? s[sum(k in 0..i: v[k] as u64)] : 0;"),
     "v=i s=gather scan(i)#0"},
    {"a scan in a scan is a difference", MAP("s: u32[]", "decode(i) = sum(k in 0..i: sum(m in 0..k: s[m]));"),
     "s=gather scan(i)#0 prefix#1"},

    // ---- SCAN of an emit region; LOOP ----
    {"scan: the binder of an emit", CHUNK("s: u32[] per chunk", "emit k in 0..out.len: sum(j in 0..k: s[j]);"),
     "s=gather scan(k)#0"},
    {"scan: the binder of an emit, inclusive", CHUNK("s: u32[] per chunk", "emit k in 0..out.len: sum(j in 0..=k: s[j]);"),
     "s=gather scan(k,inclusive)#0"},
    {"an emit's scan may use what stands still",
     CHUNK("s: u32[] per chunk", "var b: u32 = 0; b += 1; emit k in 0..out.len: sum(j in 0..k: s[j] + b);"),
     "s=gather scan(k)#0"},
    {"an emit from 1 loops", CHUNK("s: u32[] per chunk", "emit 0; emit k in 1..out.len: sum(j in 0..k: s[j]);"), "s=gather loop"},
    {"an emit with two binders loops", CHUNK("s: u32[] per chunk", "emit r in 0..4, k in 0..out.len / 4: sum(j in 0..k: s[j]);"),
     "s=gather loop"},
    {"the outer of two binders loops, too",
     CHUNK("s: u32[] per chunk", "emit r in 0..out.len / 4, k in 0..4: sum(j in 0..r: s[j]);"), "s=gather loop"},
    {"a term that uses the emit's binder loops",
     CHUNK("s: u32[] per chunk", "emit k in 0..out.len: sum(j in 0..k: s[j] * (k as u32));"), "s=gather loop"},
    {"a chunk loops", CHUNK("s: u32[] per chunk", "let n = max(k in 0..s.len: s[k]); emit k in 0..out.len: n;"), "s=gather loop"},
    {"a chunk unrolls", CHUNK("s: u32[] per chunk", "let n = max(k in 0..4: s[k]); emit k in 0..out.len: n;"),
     "s=gather unrolled(4)"},

    // ---- index_forms, SEGMENTED ----
    {"segment: i / n * n", MAP("s: u32[]", "decode(i) = max(k in i / 512 * 512 .. i: s[k]);"), "s=i segmented(i,512,0)#0"},
    {"segment: + 1 ..=", MAP("s: u32[]", "decode(i) { let t = i / 512 * 512; return max(k in t + 1 ..= i: s[k]); }"),
     "s=i segmented(i,512,1,inclusive)#0"},
    {"segment: i >> m << m", MAP("s: u32[]", "decode(i) = max(k in i >> 9 << 9 ..= i: s[k]);"),
     "s=i segmented(i,512,0,inclusive)#0"},
    {"segment: i & -n", MAP("s: u32[]", "decode(i) = max(k in i & ~511 ..= i: s[k]);"), "s=i segmented(i,512,0,inclusive)#0"},
    {"segment: i - i % n", MAP("s: u32[]", "decode(i) = max(k in i - i % 500 ..= i: s[k]);"),
     "s=i segmented(i,500,0,inclusive)#0"},
    {"segment: n * (i / n)", MAP("s: u32[]", "decode(i) = max(k in 100 * (i / 100) .. i: s[k]);"), "s=i segmented(i,100,0)#0"},
    {"segment: over g",
     GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j) = max(k in g / 128 * 128 .. g: s[k]);"),
     "s=g n=g segmented(g,128,0)#0"},
    {"i / n * m is not a segment", MAP("s: u32[]", "decode(i) = max(k in i / 512 * 256 .. i: s[k]);"), "ZF0504: `xor`"},
    {"i & 511 is not a segment", MAP("s: u32[]", "decode(i) = max(k in i & 511 .. i: s[k]);"), "ZF0504: `xor`"},
    {"i - i % n of another", MAP("s: u32[], t: u32[]", "decode(i) = max(k in i - t[i] % 500 ..= i: s[k]);"), "ZF0504: `xor`"},
    {"g - j % n is not a segment",
     GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j) = max(k in g - j % 500 ..= g: s[k]);"),
     "ZF0504: `xor`"},
    {"the segment of another index",
     GROUP("s: u32[], n: u32[]", "groups = n.len; size(g) = n[g]; decode(g, j, i) = max(k in i / 512 * 512 .. g: s[k]);"),
     "ZF0504: `xor`"},
    {"a skip beyond the segment", MAP("s: u32[]", "decode(i) = max(k in i / 512 * 512 + 512 .. i: s[k]);"), "ZF0504: `xor`"},
    {"a segment that a param chooses", MAP("s: u32[], param p: u8 in 1.. = 9", "decode(i) = max(k in i / p * p .. i: s[k]);"),
     "ZF0504: `xor`"},
    {"a segmented term that uses i", MAP("s: u32[]", "decode(i) = max(k in i / 512 * 512 .. i: s[k] + (i as u32));"),
     "ZF0504: `i`"},

    // ---- PREFIX ----
    {"prefix: sum of a..b", MAP("s: u32[], t: u32[]", "decode(i) = sum(k in t[i] .. t[i] * 3: s[k]);"), "s=gather t=i prefix#0"},
    {"prefix: xor", MAP("s: u32[], t: u32[]", "decode(i) = xor(k in t[i] .. t[i] * 3: s[k]);"), "s=gather t=i prefix#0"},
    {"max has no differences", MAP("s: u32[], t: u32[]", "decode(i) = max(k in t[i] .. t[i] * 3: s[k]);"), "ZF0504: `xor`"},
    {"prefix: nothing is read at k", MAP("t: u32[]", "decode(i) = sum(k in t[i] .. t[i] * 3: k as u32);"),
     "ZF0504: reads no stream"},
    {"prefix: a term that uses i", MAP("s: u32[], t: u32[]", "decode(i) = sum(k in t[i] .. t[i] * 3: s[k] + (i as u32));"),
     "ZF0504: `i`"},
    {"prefix: two binders", MAP("s: u32[], t: u32[]", "decode(i) = sum(k in 0..t[i], m in 0..t[i]: s[k]);"),
     "ZF0504: two indices"},

    // ---- params that shape ----
    {"shapes: a width", MAP("s: u32[], param w: u8 in 0..=32, param b: u32", "decode(i) = b + s.bits(i * w, w) as u32;"),
     "s=gather+bits w:shapes b"},
    {"shapes: a shift", MAP("s: u32[], param w: u8, param b: u32", "decode(i) = s[i] >> w ^ b;"), "s=i w:shapes b"},
    {"shapes: an index of a table",
     "const T: u32[4] = [1, 2, 3, 4];" MAP("s: u32[], param w: u8 in 0..=3", "decode(i) = s[i] + T[w];"), "s=i w:shapes"},
    {"shapes: a condition", MAP("s: u32[], param w: u32, param v: u32", "decode(i) = s[i] > w ? v : 0;"), "s=i w:shapes v"},
    {"shapes: a size", GROUP("s: u32[], param w: u32", "groups = s.len; size(g) = w; decode(g, j) = s[g];"), "s=g w:shapes"},
    {"shapes: not the number of groups", GROUP("s: u32[], param w: u32", "groups = w; size(g) = 2; decode(g, j) = s[g];"),
     "s=g w"},
    {"shapes: the length of a stream", MAP("s: u32[1 << w], param w: u8 in 0..=12", "decode(i) = s[0];"), "s=gather w:shapes"},
    {"shapes: through a let",
     MAP("s: u32[], param w: u8, param b: u32", "decode(i) { let v = w; let c = b; return (s[i] << v) + c; }"), "s=i w:shapes b"},
    {"shapes: through a variable",
     MAP("s: u32[], param w: u8, param b: u32", "decode(i) { var v: u8 = 1; if s[i] > 4 { v = w; } return (s[i] << v) + b; }"),
     "s=i w:shapes b"},
    {"shapes: through a function",
     MAP("s: u32[], param w: u8, param b: u32", "fn f(n: u8, c: u32, v: u32) = (v << n) + c; decode(i) = f(w, b, s[i]);"),
     "s=i w:shapes b"},
    {"shapes: bounds of a reduction",
     MAP("s: u32[], param w: u8 in 0..=9, param b: u32", "decode(i) = sum(k in 0..w: s[i] + b);"), "s=i w:shapes b unrolled(9)"},
    {"shapes: what is read with a cursor",
     CHUNK("s: u32[] per chunk, param w: u8 in 0..=32", "while out.pos < out.len { emit s.read(w) as u32; }"),
     "s=cursor w:shapes"},
    {"shapes: through a state",
     LANES("s: u32[] per chunk, param w: u8 in 0..=32",
           "state n: u8 = 0; decode(i) { let v = s.next(); let r = v >> n; n = w; return r; }"),
     "s=cursor+next w:shapes"},

    {"shapes: an index of a local array",
     MAP("s: u32[], param w: u8 in 0..=7, param b: u32", "decode(i) { var a: u32[8]; a[w] = b; return a[3] + s[i]; }"),
     "s=i w:shapes b"},
    {"shapes: what a function does beside its value does not",
     MAP("s: u32[], param w: u8, param b: u32",
         "fn f(v: u8) -> u8 { var n: u32 = b; n += 1; return v; } decode(i) = s[i] >> f(w);"),
     "s=i w:shapes b"},

    // ---- lanes: a cursor moves once ----
    {"lanes: once", LANES("s: u32[] per chunk", "decode(i) { return s.next(); }"), "s=cursor+next"},
    {"lanes: twice", LANES("s: u32[] per chunk", "decode(i) { let a = s.next(); return a + s.next(); }"), "ZF0512: second time"},
    {"lanes: on either branch",
     LANES("s: u32[] per chunk, t: bool[32]",
           "decode(i) { var a: u32 = 0; if t[i % 32] { a = s.next(); } else { a = s.next() + 1; } return a; }"),
     "s=cursor+next t=gather"},
    {"lanes: on a branch and behind it",
     LANES("s: u32[] per chunk, t: bool[32]",
           "decode(i) { var a: u32 = 0; if t[i % 32] { a = s.next(); } return a + s.next(); }"),
     "ZF0512: second time"},
    {"lanes: a branch that leaves",
     LANES("s: u32[] per chunk, t: bool[32]", "decode(i) { if t[i % 32] { return s.next(); } return s.next(); }"),
     "s=cursor+next t=gather"},
    {"lanes: within ?:",
     LANES("s: u32[] per chunk, t: bool[32]", "decode(i) { let a = t[i % 32] ? s.next() : s.next(); return a; }"),
     "s=cursor+next t=gather"},
    {"lanes: a condition of a state",
     LANES("s: u16[] per chunk", "state x: u32 = 9; decode(i) { if x < 65536 { x = x << 16 | s.next(); } return x; }"),
     "s=cursor+next"},
    {"lanes: two cursors",
     LANES("s: u32[] per chunk, t: u32[] per chunk", "decode(i) { let a = s.next(); return a + t.next(); }"),
     "s=cursor+next t=cursor+next"},
    {"lanes: in a loop", LANES("s: u32[] per chunk", "decode(i) { var a: u32 = 0; for k in 0..2 { a += s.next(); } return a; }"),
     "ZF0512: in a loop"},
    {"lanes: twice through a function",
     LANES("s: u32[] per chunk", "fn one() -> u32 { return s.next(); } decode(i) { let a = one(); return a + one(); }"),
     "ZF0512: second time"},
    {"lanes: varint", LANES("s: u8[] per chunk", "decode(i) { return s.varint() as u32; }"), "ZF0512: varint"},
    {"lanes: an amount of the state",
     LANES("s: u32[] per chunk, t: u32[32]",
           "state x: u32 = 1; decode(i) { let e = t[x & 31]; x = (e >> 16) + s.read(e >> 8 & 15) as u32; return e; }"),
     "s=cursor t=gather"},
    {"lanes: an amount that was peeked",
     LANES("s: u32[] per chunk, t: u32[32]", "decode(i) { let e = t[s.peek(5)]; s.skip(e & 1); return e; }"), "ZF0512: amount"},
    {"lanes: a condition that was peeked",
     LANES("s: u32[] per chunk", "decode(i) { if s.peek(1) == 1 { let a = s.next(); return a; } return 0; }"), "ZF0512: whether"},
    {"lanes: what was not peeked in a loop",
     LANES("s: u32[] per chunk", "decode(i) { var a: u64 = 0; let n = i & 7; for k in 0..3 { a = s.peek(3); } return "
                                 "(s.read(n) + a) as u32; }"),
     "s=cursor"},
    {"lanes: peeked through a variable in a loop",
     LANES("s: u32[] per chunk", "decode(i) { var a: u64 = 0; var b: u64 = 0; for k in 0..3 { b = a; a = s.peek(3); } "
                                 "return s.read(b & 7) as u32; }"),
     "ZF0512: amount"},
};

// ---- The matcher's result in one line -------------------------------------------------------------------------

static bool print_reduce(zf_visitor *visitor, zf_expr *expr) {
    zf_text *out = visitor->user;
    if (expr->kind != ZF_X_REDUCE) return true;
    const zf_reduce *r = expr->reduce;
    const char *inclusive = r->inclusive ? ",inclusive" : "";
    switch (r->form) {
    case ZF_R_LOOP: zf_text_puts(out, " loop"); break;
    case ZF_R_UNROLLED: zf_text_printf(out, " unrolled(%u)", r->trip); break;
    case ZF_R_SCAN: zf_text_printf(out, " scan(%s%s)#%u", r->domain->name, inclusive, r->index); break;
    case ZF_R_SEGMENTED:
        zf_text_printf(out, " segmented(%s,%llu,%llu%s)#%u", r->domain->name, (unsigned long long)r->segment,
                       (unsigned long long)r->skip, inclusive, r->index);
        break;
    case ZF_R_PREFIX: zf_text_printf(out, " prefix#%u", r->index); break;
    }
    return true;
}

static void summary(const zf_inst *inst, zf_text *out) {
    static const char *const accesses[] = {"none", "i", "g", "gather", "cursor"};
    for (uint32_t k = 0; k < inst->port_count; k++) {
        const zf_port *port = &inst->ports[k];
        if (k > 0) zf_text_puts(out, " ");
        zf_text_puts(out, port->name);
        if (port->is_param)
            zf_text_puts(out, port->shapes ? ":shapes" : "");
        else
            zf_text_printf(out, "=%s%s%s", accesses[port->access], port->uses_next_only ? "+next" : "",
                           port->bitwise ? "+bits" : "");
    }
    zf_visitor visitor = {.user = out, .expr = print_reduce};
    zf_inst *mutable = (zf_inst *)(uintptr_t)inst;
    zf_visit_body(&visitor, &mutable->groups);
    zf_visit_body(&visitor, &mutable->size);
    zf_visit_body(&visitor, &mutable->decode);
}

/// "ZF0504" and a part of what is said with it.
static bool said(zf_spec *spec, const char *want) {
    const char *part = want + 8;
    int code = atoi(want + 2);
    for (const zf_diag *diag = zf_spec_diags(spec)->first; diag != NULL; diag = diag->next) {
        if ((int)diag->code != code) continue;
        if (strstr(diag->message, part) != NULL) return true;
        for (const zf_remark *r = diag->remarks; r != NULL; r = r->next) {
            if (strstr(r->text, part) != NULL) return true;
        }
    }
    return false;
}

static void run_case(const char *form, const char *text, const char *want) {
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.no_std = true});
    zf_text found = {0};
    zf_inst *inst = NULL;
    if (zf_spec_add_text(spec, "test", text, strlen(text))) {
        inst = zf_spec_instantiate(spec, find_algorithm(spec, "a"), NULL, (zf_span){0});
    }
    if (inst != NULL)
        summary(inst, &found);
    else
        zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &found);
    bool as_wanted =
        strncmp(want, "ZF", 2) == 0 ? inst == NULL && said(spec, want) : inst != NULL && strcmp(found.data, want) == 0;
    CHECK(as_wanted, "%s\n    want %s\n    have %s", form, want, found.data == NULL ? "nothing" : found.data);
    zf_text_free(&found);
    zf_spec_destroy(spec);
}

int main(int argc, char **argv) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (argc < 2 || strstr(cases[k].form, argv[1]) != NULL) run_case(cases[k].form, cases[k].text, cases[k].want);
    }
    return check_result();
}
