"""Runs threads of a kernel in PTX: enough of the language for what nvcc makes of tile loaders.

An instruction, a modifier or an operand that is not known here ends the run with an error: nothing is guessed. Registers hold
bits. Names are looked up in their braces and those around, as PTX does, so that the registers and labels of an asm statement do
not meet those of another.
"""

import ctypes
import fractions
import re
import struct

BITS = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32,
        "b64": 64, "u64": 64, "s64": 64, "f64": 64}
FORMS = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}
STEPS = 200000  # of a run, at most


class Unknown(Exception):
    """Something that this machine does not run."""


def mask(value, bits):
    return value & ((1 << bits) - 1)


def signed(value, bits):
    value = mask(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def as_float(bits, form):
    return struct.unpack(FORMS[form][0], struct.pack(FORMS[form][1], mask(bits, BITS[form])))[0]


def from_float(value, form):
    return struct.unpack(FORMS[form][1], struct.pack(FORMS[form][0], value))[0]


def typed(bits, form):
    """The number that bits are."""
    if form in FORMS:
        return as_float(bits, form)
    return signed(bits, BITS[form]) if form[0] == "s" else mask(bits, BITS[form])


# ---- The text ---------------------------------------------------------------------------------------------------


class Scope:
    def __init__(self, outer):
        self.outer, self.registers, self.labels, self.tables = outer, {}, {}, {}

    def register(self, name):
        """The identity of a register: its name and its scope."""
        found = re.fullmatch(r"(%?[A-Za-z_]+)(\d*)", name)
        if found is None:
            raise Unknown(f"operand {name}")
        prefix, number = found.groups()
        scope = self
        while scope is not None:
            count = scope.registers.get(prefix)
            if count is not None and (number == "" or int(number) < count):
                return (id(scope), name)
            if name in scope.registers:
                return (id(scope), name)
            scope = scope.outer
        raise Unknown(f"register {name}")

    def table(self, name):
        """The address of a table of constants; None: there is none of this name."""
        scope = self
        while scope is not None and name not in scope.tables:
            scope = scope.outer
        return ctypes.addressof(scope.tables[name]) if scope is not None else None

    def label(self, name):
        scope = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.outer
        raise Unknown(f"label {name}")


class Kernel:
    """A kernel's instructions: (scope, guard, opcode, operands)."""

    def __init__(self, text, name):
        found = re.search(r"\.entry\s+" + re.escape(name) + r"\s*\((.*?)\)(.*?)\n\{", text, re.S)
        if found is None:
            raise Unknown(f"kernel {name}")
        self.params = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(\w+)(?:\[(\d+)\])?", found.group(1))
        self.code, self.scopes, self.shared = [], [], {}  # shared: (place, bytes) of arrays in shared memory
        scope = Scope(None)
        self.scopes.append(scope)
        for table in re.findall(r"^(?:\.visible )?(\.global [^;]*=[^;]*);", text[:found.start()], re.M):
            self.statement(table, scope)
        for line in re.sub(r"//[^\n]*", "", text[found.end():]).split("\n"):
            scope = self.line(line.strip(), scope)
            if scope is None:  # the kernel's last brace
                break

    def line(self, line, scope):
        while line:
            if line.startswith(".global"):
                statement, line = line.split(";", 1)
                self.statement(statement, scope)
                line = line.strip()
            elif line[0] == "{":
                scope, line = Scope(scope), line[1:].strip()
                self.scopes.append(scope)  # which keeps their identities apart
            elif line[0] == "}":
                scope, line = scope.outer, line[1:].strip()
            elif re.match(r"[\w$]+:", line):
                name, line = line.split(":", 1)
                scope.labels[name], line = len(self.code), line.strip()
            else:
                statement, line = line.split(";", 1)
                self.statement(statement.strip(), scope)
                line = line.strip()
        return scope

    def statement(self, statement, scope):
        if statement.startswith(".reg"):
            for name, count in re.findall(r"(%?[A-Za-z_]\w*)(?:<(\d+)>)?", statement.split(None, 2)[2]):
                scope.registers[name] = int(count) if count else 1
        elif statement.startswith(".pragma") or statement.startswith(".loc"):
            pass
        elif statement.startswith(".global"):
            name, size, values = re.fullmatch(r"\.global\s+\.align\s+\d+\s+\.b8\s+(\w+)\[(\d+)\]\s*=\s*\{(.*)\}", statement).groups()
            scope.tables[name] = (ctypes.c_uint8 * int(size))(*[int(v) for v in values.split(",")])
        elif statement.startswith(".shared"):
            name, size = re.fullmatch(r"\.shared\s+\.align\s+\d+\s+\.b8\s+(\w+)\[(\d+)\]", statement).groups()
            self.shared[name] = (16 + sum(bytes + 16 for _, bytes in self.shared.values()), int(size))
        elif statement.startswith("."):
            raise Unknown(statement)
        else:
            guard = None
            if statement[0] == "@":
                guard, statement = statement.split(None, 1)
                guard = (guard[1] != "!", scope.register(guard.lstrip("@!")))
            opcode, _, rest = statement.partition(" ")
            if "\t" in opcode:
                opcode, _, rest = statement.partition("\t")
            self.code.append((scope, guard, opcode.split("."), operands(rest.strip())))


def operands(text):
    """Splits at commas outside of braces and brackets."""
    out, depth, word = [], 0, ""
    for c in text:
        depth += (c in "{[") - (c in "}]")
        if c == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += c
    return [*out, word.strip()] if word.strip() else out


# ---- The thread -------------------------------------------------------------------------------------------------


class Thread:
    """`arguments`: bytes for each param. `special`: values of the machine's registers. `loads` collects the addresses that were
    read."""

    def __init__(self, kernel, arguments, special=None, shared=None):
        self.shared = {} if shared is None else shared  # byte by place, of those that were written
        self.kernel, self.registers, self.loads, self.at = kernel, {}, [], 0
        self.params = {name: ctypes.create_string_buffer(bytes(value)) for (_, name, _), value in zip(kernel.params, arguments)}
        self.special = special or {}

    def run(self):
        """Runs a thread that does not meet others."""
        for _ in self.steps():
            raise Unknown("a shuffle of one thread")
        return self

    def steps(self):
        """Runs up to the end. Yields where lanes meet, for run_warp: how, a value, and the distance or the lane of another."""
        for _ in range(STEPS):
            if self.at == len(self.kernel.code):
                return
            scope, guard, opcode, words = self.kernel.code[self.at]
            self.at += 1
            if guard is not None and bool(self.registers[guard[1]]) != guard[0]:
                continue
            if opcode[0] in ("ret", "exit"):
                return
            if opcode[0] == "bra":
                self.at = scope.label(words[0])
                continue
            if opcode[0] == "shfl":
                how = opcode[2]
                if opcode[1::2] != ["sync", "b32"] or how not in FROM or self.get(scope, words[3], "u32") != (0 if how == "up" else 31):
                    raise Unknown(".".join(opcode))
                to, _, holds = words[0].partition("|")
                value, inside = yield how, mask(self.get(scope, words[1], "b32"), 32), self.get(scope, words[2], "u32")
                self.set(scope, to, value, 32)
                if holds:
                    self.set(scope, holds, inside, 1)
                continue
            if opcode == ["bar", "warp", "sync"]:
                yield "bar", 0, 0
                continue
            handler = getattr(self, "do_" + opcode[0], None)
            if handler is None:
                raise Unknown(".".join(opcode))
            handler(scope, opcode[1:], words)
        raise Unknown("a loop without an end")

    def get(self, scope, word, form):
        if word[0] == "%":
            if word in self.special:
                return self.special[word]
            return self.registers[scope.register(word)]
        if re.fullmatch(r"0[fFdD][0-9a-fA-F]+", word):
            return int(word[2:], 16)
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", word):
            return mask(int(word.rstrip("U"), 0), BITS[form])
        if word in self.params:
            return ctypes.addressof(self.params[word])
        if word in self.kernel.shared:
            return self.kernel.shared[word][0]
        table = scope.table(word)
        return self.registers[scope.register(word)] if table is None else table

    def set(self, scope, word, value, bits):
        self.registers[scope.register(word)] = mask(value, bits)

    def number(self, scope, word, form):
        return typed(self.get(scope, word, form), form)

    def put(self, scope, word, value, form):
        self.set(scope, word, from_float(value, form) if form in FORMS else value, BITS[form])

    # ---- Memory ----

    def shared_bytes(self, scope, word, size):
        """The places of an element of shared memory."""
        inside, _, offset = word.strip("[]").partition("+")
        at = mask(self.get(scope, inside.strip(), "u32") + int(offset or 0), 32)
        if at % size or not any(begin <= at and at + size <= begin + count for begin, count in self.kernel.shared.values()):
            raise Unknown(f"{size} bytes of shared memory at {at}")
        return range(at, at + size)

    def place(self, scope, word):
        inside = word.strip("[]")
        base, _, offset = inside.partition("+")
        return mask(self.get(scope, base.strip(), "u64") + int(offset or 0), 64)

    def do_ld(self, scope, how, words):
        form = how[-1]
        if how[:-1] == ["shared"]:
            places = self.shared_bytes(scope, words[1], BITS[form] // 8)
            if not all(at in self.shared for at in places):
                raise Unknown(f"a load of shared memory at {places[0]}, to which nothing was written")
            self.set(scope, words[0], int.from_bytes(bytes(self.shared[at] for at in places), "little"), 64)
            return
        known = {"global", "nc", "param", "v2", "v4", "L1", "L2", "evict_last", form}
        if set(how) - known:
            raise Unknown("ld." + ".".join(how))
        size = BITS[form] // 8
        at = self.place(scope, words[1])
        to = operands(words[0].strip("{}")) if words[0][0] == "{" else [words[0]]
        if "param" not in how and at % (size * len(to)) != 0:
            raise Unknown(f"a load of {size * len(to)} bytes at {at:#x}, which is not aligned")
        for k, name in enumerate(to):
            if "param" not in how:
                self.loads.append(at + k * size)
            raw = ctypes.string_at(at + k * size, size)
            value = int.from_bytes(raw, "little")
            self.set(scope, name, signed(value, BITS[form]) if form[0] == "s" else value, 64)

    def do_st(self, scope, how, words):
        form = how[-1]
        if how[:-1] == ["shared"]:
            places = self.shared_bytes(scope, words[0], BITS[form] // 8)
            value = mask(self.get(scope, words[1], form), BITS[form])
            self.shared.update(zip(places, value.to_bytes(len(places), "little")))
            return
        if set(how) - {"global", "v2", "v4", form}:
            raise Unknown("st." + ".".join(how))
        size = BITS[form] // 8
        at = self.place(scope, words[0])
        values = operands(words[1].strip("{}")) if words[1][0] == "{" else [words[1]]
        for k, name in enumerate(values):
            ctypes.memmove(at + k * size, mask(self.get(scope, name, form), BITS[form]).to_bytes(size, "little"), size)

    def do_red(self, scope, how, words):
        if set(how) - {"relaxed", "gpu"} != {"global", "add", "u64"}:
            raise Unknown("red." + ".".join(how))
        at = self.place(scope, words[0])
        before = int.from_bytes(ctypes.string_at(at, 8), "little")
        ctypes.memmove(at, mask(before + self.get(scope, words[1], "u64"), 64).to_bytes(8, "little"), 8)

    def do_atom(self, scope, how, words):
        self.do_red(scope, how, words[1:])  # what was there before is not asked for

    def do_cvta(self, scope, how, words):
        self.set(scope, words[0], self.get(scope, words[1], "u64"), 64)

    # ---- Moves and conversions ----

    def do_mov(self, scope, how, words):
        form = how[-1]
        if words[0][0] == "{":
            parts, value = operands(words[0].strip("{}")), self.get(scope, words[1], form)
            for k, part in enumerate(parts):
                self.set(scope, part, value >> (k * BITS[form] // len(parts)), BITS[form] // len(parts))
        elif words[1][0] == "{":
            parts, value = operands(words[1].strip("{}")), 0
            each = BITS[form] // len(parts)
            for k, part in enumerate(parts):
                value |= mask(self.get(scope, part, f"b{each}"), each) << (k * each)
            self.set(scope, words[0], value, BITS[form])
        else:
            self.set(scope, words[0], self.get(scope, words[1], form), BITS[form])

    def do_cvt(self, scope, how, words):
        to, form = how[-2:]
        value = self.number(scope, words[1], form)
        rounds = set(how[:-2]) - {"sat"}
        if "sat" in how or rounds - {"rn", "rz", "rni", "rzi"}:
            raise Unknown("cvt." + ".".join(how))
        if to in FORMS:
            if to == "f32" and isinstance(value, int) and abs(value) > 1 << 53:
                raise Unknown("a conversion that rounds twice")
            self.put(scope, words[0], float(value), to)
        elif form in FORMS:
            if value != value or abs(value) > 1 << 62:
                raise Unknown("a conversion out of range")
            self.set(scope, words[0], int(value) if "rzi" in how else round(value), BITS[to])
        else:
            value = typed(mask(value, BITS[form]), form)
            self.set(scope, words[0], signed(value, BITS[to]) if to[0] == "s" and BITS[to] < 32 else value, max(BITS[to], 32)
                     if BITS[to] < 32 else BITS[to])

    # ---- Comparisons ----

    def compare(self, scope, how, words):
        form, a, b = how[-1], self.number(scope, words[0], how[-1]), self.number(scope, words[1], how[-1])
        test = how[0]
        if form in FORMS and test.endswith("u"):
            if a != a or b != b:
                return True
            test = test[:-1]
        tests = {"eq": a == b, "ne": a != b if form not in FORMS else a == a and b == b and a != b, "lt": a < b, "le": a <= b, "gt": a > b,
                 "ge": a >= b, "lo": a < b, "ls": a <= b, "hi": a > b, "hs": a >= b}
        if test not in tests:
            raise Unknown("setp." + ".".join(how))
        return tests[test]

    def do_setp(self, scope, how, words):
        result = self.compare(scope, [how[0], how[-1]], words[1:])
        if len(how) == 3:
            negated = words[3][0] == "!"
            other = bool(self.get(scope, words[3].lstrip("!"), "pred")) != negated
            result = {"and": result and other, "or": result or other, "xor": result != other}[how[1]]
        elif len(how) != 2:
            raise Unknown("setp." + ".".join(how))
        self.set(scope, words[0], int(result), 1)

    def do_selp(self, scope, how, words):
        self.set(scope, words[0], self.get(scope, words[1] if self.get(scope, words[3], "pred") else words[2], how[-1]), BITS[how[-1]])

    # ---- Arithmetic ----

    def two(self, scope, how, words, make):
        form = how[-1]
        self.put(scope, words[0], make(self.number(scope, words[1], form), self.number(scope, words[2], form)), form)

    def plain(self, how, *known):
        if set(how[:-1]) - set(known):
            raise Unknown(".".join(how))

    def do_add(self, scope, how, words):
        self.plain(how, "rn")
        self.two(scope, how, words, lambda a, b: a + b)

    def do_sub(self, scope, how, words):
        self.plain(how, "rn")
        self.two(scope, how, words, lambda a, b: a - b)

    def do_div(self, scope, how, words):
        self.plain(how, "rn")
        if how[-1] not in FORMS and how[-1][0] == "s":
            raise Unknown("a signed division")
        self.two(scope, how, words, (lambda a, b: a / b) if how[-1] in FORMS else (lambda a, b: a // b))

    def do_rem(self, scope, how, words):
        if how[-1][0] == "s":
            raise Unknown("a signed remainder")
        self.two(scope, how, words, lambda a, b: a % b)

    def do_min(self, scope, how, words):
        self.two(scope, how, words, min)

    def do_max(self, scope, how, words):
        self.two(scope, how, words, max)

    def do_neg(self, scope, how, words):
        self.put(scope, words[0], -self.number(scope, words[1], how[-1]), how[-1])

    def product(self, scope, how, words):
        form = how[-1]
        if form in FORMS:
            self.plain(how, "rn")
            return self.number(scope, words[0], form) * self.number(scope, words[1], form), form
        value = self.number(scope, words[0], form) * self.number(scope, words[1], form)
        if how[0] == "wide":
            return value, form[0] + str(BITS[form] * 2)
        if how[0] == "hi":
            return value >> BITS[form], form
        if how[0] != "lo":
            raise Unknown("mul." + ".".join(how))
        return value, form

    def do_mul(self, scope, how, words):
        value, form = self.product(scope, how, words[1:3])
        self.put(scope, words[0], value, form)

    def do_mad(self, scope, how, words):
        value, form = self.product(scope, how, words[1:3])
        self.put(scope, words[0], value + self.number(scope, words[3], form), form)

    def do_fma(self, scope, how, words):
        self.plain(how, "rn")
        a, b, c = (fractions.Fraction(self.number(scope, w, how[-1])) for w in words[1:4])
        if how[-1] != "f64":
            raise Unknown("fma.f32")
        self.put(scope, words[0], float(a * b + c), how[-1])

    # ---- Bits ----

    def do_and(self, scope, how, words):
        self.bits(scope, how, words, lambda a, b: a & b)

    def do_or(self, scope, how, words):
        self.bits(scope, how, words, lambda a, b: a | b)

    def do_xor(self, scope, how, words):
        self.bits(scope, how, words, lambda a, b: a ^ b)

    def bits(self, scope, how, words, make):
        self.set(scope, words[0], make(self.get(scope, words[1], how[-1]), self.get(scope, words[2], how[-1])), BITS[how[-1]])

    def do_not(self, scope, how, words):
        self.set(scope, words[0], ~self.get(scope, words[1], how[-1]), BITS[how[-1]])

    def do_shl(self, scope, how, words):
        self.set(scope, words[0], mask(self.get(scope, words[1], how[-1]), BITS[how[-1]]) << min(self.get(scope, words[2], "u32"), 64),
                 BITS[how[-1]])

    def do_shr(self, scope, how, words):
        self.set(scope, words[0], self.number(scope, words[1], how[-1]) >> min(self.get(scope, words[2], "u32"), 64), BITS[how[-1]])

    def do_bfe(self, scope, how, words):
        form = how[-1]
        value, at, count = self.get(scope, words[1], form), self.get(scope, words[2], "u32") & 255, self.get(scope, words[3], "u32") & 255
        if form[0] == "s" and (at + count > BITS[form] or count == 0):
            raise Unknown("bits beyond a word")
        value = mask(mask(value, BITS[form]) >> at, count)
        self.set(scope, words[0], signed(value, count) if form[0] == "s" else value, BITS[form])

    def do_bfi(self, scope, how, words):
        bits = BITS[how[-1]]
        a, b = (mask(self.get(scope, w, how[-1]), bits) for w in words[1:3])
        at, count = (self.get(scope, w, "u32") & 255 for w in words[3:5])
        field = mask(mask(-1, count) << at, bits)
        self.set(scope, words[0], (b & ~field) | ((a << at) & field), bits)

    def do_shf(self, scope, how, words):
        a, b = (mask(self.get(scope, w, "b32"), 32) for w in words[1:3])
        shift = self.get(scope, words[3], "u32")
        shift = shift & 31 if how[1] == "wrap" else min(shift, 32)
        both = b << 32 | a
        self.set(scope, words[0], both >> shift if how[0] == "r" else both << shift >> 32, 32)

    def do_prmt(self, scope, how, words):
        if how != ["b32"]:
            raise Unknown("prmt." + ".".join(how))
        a, b, selector = (mask(self.get(scope, w, "b32"), 32) for w in words[1:4])
        both, value = (b << 32 | a).to_bytes(8, "little"), 0
        for k in range(4):
            choice = selector >> (4 * k) & 15
            byte = both[choice & 7]
            value |= (255 if choice & 8 and byte >> 7 else 0 if choice & 8 else byte) << (8 * k)
        self.set(scope, words[0], value, 32)

    def do_popc(self, scope, how, words):
        self.set(scope, words[0], mask(self.get(scope, words[1], how[-1]), BITS[how[-1]]).bit_count(), 32)

    def do_brev(self, scope, how, words):
        bits = BITS[how[-1]]
        self.set(scope, words[0], int(f"{mask(self.get(scope, words[1], how[-1]), bits):0{bits}b}"[::-1], 2), bits)

    def do_bfind(self, scope, how, words):
        form = how[-1]
        if form[0] == "s":
            raise Unknown("bfind of a signed number")
        value = mask(self.get(scope, words[1], form), BITS[form])
        found = value.bit_length() - 1
        if "shiftamt" in how:
            found = BITS[form] - value.bit_length() if value else -1
        self.set(scope, words[0], found, 32)

    def do_clz(self, scope, how, words):
        self.set(scope, words[0], BITS[how[-1]] - mask(self.get(scope, words[1], how[-1]), BITS[how[-1]]).bit_length(), 32)


# ---- Warps ------------------------------------------------------------------------------------------------------


FROM = {"down": lambda lane, distance: lane + distance, "up": lambda lane, distance: lane - distance, "idx": lambda lane, other: other}


def run_warp(kernel, arguments, first, special):
    """Runs the 32 threads from number `first` of a thread block. All of them come to each shuffle and barrier. Nobody else writes
    to shared memory."""
    shared = {}
    threads = [Thread(kernel, arguments, {**special, "%tid.x": first + k}, shared).steps() for k in range(32)]
    given = [next(t, None) for t in threads]
    while any(g is not None for g in given):
        if None in given or len({how for how, _, _ in given}) > 1:
            raise Unknown("a shuffle or a barrier that some threads do not come to")
        given = [advance(thread, answer(given, lane)) for lane, thread in enumerate(threads)]


def answer(given, lane):
    """The value that a lane gets, and whether another lane of the warp gives it."""
    how, value, other = given[lane]
    other = FROM[how](lane, other) if how in FROM else lane
    return (given[other][1], 1) if 0 <= other < 32 else (value, 0)


def advance(thread, value):
    try:
        return thread.send(value)
    except StopIteration:
        return None
