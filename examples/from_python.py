"""from_python.py: the library from a language without a C compiler, by nothing but the standard library's ctypes: sorts and filters an array.
Run: python3 from_python.py [path of libupsweep.so]"""
import array
import ctypes
import sys

I32, GE = 4, 6  # enumerators of upsweep.h: UPSWEEP_I32, UPSWEEP_GE


class Predicate(ctypes.Structure):
    _fields_ = [("cmp", ctypes.c_int), ("value", ctypes.c_int64)]  # the union's member for signed types


lib = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libupsweep.so")
lib.upsweep_error.restype = ctypes.c_char_p
lib.upsweep_error.argtypes = [ctypes.c_void_p]
ctx = ctypes.c_void_p()


def check(status):
    if status != 0:
        sys.exit(lib.upsweep_error(ctx).decode())


values = array.array("i", [(i * 7919) % 1000 - 500 for i in range(1000)])
in_ = (ctypes.c_int32 * 1000).from_buffer(values)
out = (ctypes.c_int32 * 1000)()
n = ctypes.c_uint64(1000)
count = ctypes.c_uint64()

check(lib.upsweep_open(ctypes.byref(ctx), b"cpu"))
check(lib.upsweep_sort(ctx, out, in_, n, I32, None))
print("smallest", out[0], "largest", out[999])
assert list(out) == sorted(values)

keep = Predicate(GE, 250)
check(lib.upsweep_compact(ctx, out, ctypes.byref(count), in_, n, I32, ctypes.byref(keep)))
print(count.value, "of 1000 are at least 250")
assert list(out)[: count.value] == [x for x in values if x >= 250]
lib.upsweep_close(ctx)
