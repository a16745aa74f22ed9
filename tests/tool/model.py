"""What the tool must compute, in plain Python, and inputs for it: the edges of each type, and floats whose sums and products are exact."""
import math
import random
import struct

CODES = {'i8': 'b', 'u8': 'B', 'i16': 'h', 'u16': 'H', 'i32': 'i', 'u32': 'I', 'i64': 'q', 'u64': 'Q', 'f32': 'f', 'f64': 'd'}
TYPES = list(CODES)


# ---- the second implementation -------------------------------------------------------------------------------------------------

def pack(type_, values):
    return struct.pack(f'<{len(values)}{CODES[type_]}', *values)


def is_float(type_):
    return type_[0] == 'f'


def bits(type_):
    return int(type_[1:])


def wrap(type_, x):
    x &= (1 << bits(type_)) - 1
    return x - (1 << bits(type_)) if type_[0] == 'i' and x >> (bits(type_) - 1) else x


def lowest(type_):
    return -math.inf if is_float(type_) else -(1 << (bits(type_) - 1)) if type_[0] == 'i' else 0


def highest(type_):
    return math.inf if is_float(type_) else (1 << (bits(type_) - (type_[0] == 'i'))) - 1


def apply(type_, op, a, b):
    if op in ('min', 'max'):
        if a != a:
            return a
        return a if (a < b if op == 'min' else a > b) else b
    x = {'add': lambda: a + b, 'mul': lambda: a * b, 'and': lambda: a & b, 'or': lambda: a | b, 'xor': lambda: a ^ b}[op]()
    return x if is_float(type_) else wrap(type_, x)


def identity(type_, op):
    if op == 'min':
        return highest(type_)
    if op == 'max':
        return lowest(type_)
    x = {'add': 0, 'mul': 1, 'and': -1, 'or': 0, 'xor': 0}[op]
    return float(x) if is_float(type_) else wrap(type_, x)


def scan(type_, op, values, inclusive, init=None):
    total = identity(type_, op) if init is None else init
    out = []
    for x in values:
        after = apply(type_, op, total, x)
        out.append(after if inclusive else total)
        total = after
    return out


def image(type_, x):
    """The unsigned number that sorts as x does."""
    u = int.from_bytes(pack(type_, [x]), 'little')
    top = 1 << (bits(type_) - 1)
    if type_[0] == 'u':
        return u
    if type_[0] == 'i':
        return u ^ top
    return u ^ (2 * top - 1) if u & top else u ^ top


def order(type_, keys, descending=False, lo=0, hi=None):
    hi = bits(type_) if hi is None else hi
    digit = [(image(type_, k) >> lo) & ((1 << (hi - lo)) - 1) for k in keys]
    return sorted(range(len(keys)), key=lambda i: -digit[i] if descending else digit[i])  # sorted() is stable


def npy(type_, values, version=(1, 0), shape=None, descr=None, fortran=False, text=None):
    descr = descr or ('<' if bits(type_) > 8 else '|') + type_[0] + str(bits(type_) // 8)
    shape = shape if shape is not None else f'({len(values)},)'
    text = text if text is not None else f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    size = 2 if version[0] == 1 else 4
    text = text.encode() + b' ' * (-(8 + size + len(text) + 1) % 64) + b'\n'
    return b'\x93NUMPY' + bytes(version) + len(text).to_bytes(size, 'little') + text + pack(type_, values)


# ---- inputs --------------------------------------------------------------------------------------------------------------------

rng = random.Random(5)


def integers(type_, n):
    edges = [lowest(type_), highest(type_), 0, 1, 2, wrap(type_, -1)]
    return [rng.choice(edges) if rng.random() < 0.3 else rng.randint(lowest(type_), highest(type_)) for _ in range(n)]


def floats(n, specials=True):
    edges = [0.0, -0.0, 1.5, -2.25] + ([math.inf, -math.inf, math.nan, -math.nan] if specials else [])
    return [rng.choice(edges) if rng.random() < 0.3 else float(rng.randint(-1000, 1000)) for _ in range(n)]


def some(type_, n):
    return floats(n) if is_float(type_) else integers(type_, n)


def for_scan(type_, op, n):
    if not is_float(type_):
        return integers(type_, n)
    if op == 'mul':
        return [(2.0 if i % 2 else 0.5) * rng.choice((1, -1)) for i in range(n)]
    return floats(n, specials=op in ('min', 'max'))
