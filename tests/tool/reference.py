#!/usr/bin/env python3
"""Runs the tool on files and compares what it writes with a second, plain implementation (model.py).

usage: reference.py TOOL DIR        prints a line a failure, then `N passed, N failed`

Inputs hold the edges of each type. Floats are chosen so that sums and products are exact, for a scan may combine them in another order;
results are compared as bytes, so -0.0 and NaNs count. The chunk sizes force many chunks, and a last one that is not full.
"""
import itertools
import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

from model import bits, CODES, for_scan, highest, integers, is_float, lowest, npy, order, pack, rng, scan, some, TYPES

TOOL, DIR = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
passed = failed = 0


def check(what, good, detail=''):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print('FAILED:', what, detail)


def path(name):
    return os.path.join(DIR, name)


def put(name, data):
    with open(path(name), 'wb') as f:
        f.write(data)
    return path(name)


def get(name):
    with open(path(name), 'rb') as f:
        return f.read()


def tool(*args, stdin=b''):
    return subprocess.run([TOOL, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def expect(what, args, wanted, stdin=b'', out=None):
    """The run is good and writes `wanted` to standard output, or to the file `out`."""
    run = tool(*args, stdin=stdin)
    got = get(out) if out and run.returncode == 0 else run.stdout
    detail = f'exit {run.returncode} {run.stderr.decode(errors="replace").strip()}, {len(got)} bytes, wanted {len(wanted)}'
    check(what, run.returncode == 0 and run.stderr == b'' and got == wanted, detail)


def expect_error(what, args, sentence, stdin=b''):
    """The run ends with status 2, writes nothing, leaves nothing, and says the sentence."""
    before = set(os.listdir(DIR))
    run = tool(*args, stdin=stdin)
    text = run.stderr.decode(errors='replace')
    good = run.returncode == 2 and text.startswith('upsweep: ') and sentence in text and text.count('\n') == 1
    check(what, good and set(os.listdir(DIR)) == before, f'exit {run.returncode}: {text.strip()!r}')


# ---- the tests -----------------------------------------------------------------------------------------------------------------

def test_scan():
    for type_ in TYPES:
        for op in ['add', 'mul', 'min', 'max'] + ([] if is_float(type_) else ['and', 'or', 'xor']):
            values = for_scan(type_, op, 1003)
            put('in', pack(type_, values))
            init = 3.0 if is_float(type_) else 3
            for inclusive in (False, True):
                for chunk in ('1', '1000', '1G'):
                    args = ['scan', '--type', type_, '--op', op, '--chunk', chunk] + ['--inclusive'] * inclusive
                    if chunk == '1':  # an element a chunk: a shorter input will do
                        expect(f'scan {args}', args, pack(type_, scan(type_, op, values[:64], inclusive)), pack(type_, values[:64]))
                    else:
                        expect(f'scan {args}', args + [path('in')], pack(type_, scan(type_, op, values, inclusive)))
            wanted = pack(type_, scan(type_, op, values, False, init))
            expect(f'scan {type_} {op} --init', ['scan', '-t', type_, '-o', op, '--init', '3', '--chunk', '512', '-', path('out')], wanted,
                   pack(type_, values), 'out')


def test_compact():
    tests = {'==': lambda x, c: x == c, '!=': lambda x, c: x != c, '<': lambda x, c: x < c, '<=': lambda x, c: x <= c,
             '>': lambda x, c: x > c, '>=': lambda x, c: x >= c}
    for type_ in TYPES:
        values = some(type_, 1003)
        put('in', pack(type_, values))
        constants = ['0', '1', '7'] + (['-2.25', 'inf'] if is_float(type_) else [str(lowest(type_)), str(highest(type_))])
        cases = [(f'{sign} {c}', lambda x, t=t, c=c: t(x, float(c) if is_float(type_) else int(c))) for sign, t in tests.items() for c in constants]
        cases.append(('nonzero', lambda x: x != 0))
        if is_float(type_):
            cases.append(('not-nan', lambda x: x == x))
        for number, (where, keep) in enumerate(cases):
            args = ['--type', type_, '--where', where if number % 2 else where.replace(' ', ''), '--chunk', '777']
            indices = [i for i, x in enumerate(values) if keep(x)]
            kept, others = [values[i] for i in indices], [x for x in values if not keep(x)]
            expect(f'compact {args}', ['compact', *args, path('in')], pack(type_, kept))
            expect(f'partition {args}', ['partition', *args, path('in'), path('out')], pack(type_, kept + others), out='out')
            expect(f'partition {args} --rest', ['partition', *args, '--rest', path('rest'), path('in')], pack(type_, kept))
            check(f'partition {args}, the rest', get('rest') == pack(type_, others))
            if number % 5 == 0:
                expect(f'compact {args} --indices', ['compact', *args, '--indices', path('in')], pack('u64', indices))
                expect(f'compact {args} u32', ['compact', *args, '--indices', '--index-type', 'u32', path('in')], pack('u32', indices))
                expect(f'compact {args} --count', ['compact', *args, '--count', path('in')], b'%d\n' % len(kept))
                expect(f'partition {args} --count', ['partition', *args, '-c', path('in'), path('out')], b'%d\n' % len(kept))
        expect(f'compact {type_}, default', ['compact', '-t', type_, path('in')], pack(type_, [x for x in values if x != 0]))


def test_flags():
    n = 1003
    flags = [rng.choice((0, 0, 1, 255, 128)) for _ in range(n)]
    put('flags', bytes(flags))
    put('flags.npy', npy('u8', [min(f, 1) for f in flags], descr='|b1'))
    for size in (1, 3, 4, 24, 4096):
        records = [rng.randbytes(size) for _ in range(n)]
        put('in', b''.join(records))
        kept = b''.join(r for r, f in zip(records, flags) if f)
        others = b''.join(r for r, f in zip(records, flags) if not f)
        for name in ('flags', 'flags.npy'):
            for chunk in ('1', '5000', '1G') if size == 3 else ('5000',):
                args = ['--flags', path(name), '--record-size', str(size), '--chunk', chunk, path('in')]
                expect(f'compact {args}', ['compact', *args], kept)
                expect(f'partition {args}', ['partition', *args], kept + others)
    values = integers('i32', n)
    put('in', pack('i32', values))
    expect('compact i32 by flags', ['compact', '--flags', path('flags'), '-t', 'i32', path('in')],
           pack('i32', [x for x, f in zip(values, flags) if f]))
    expect('indices by flags', ['compact', '--flags', path('flags'), '-t', 'i32', '--indices', '--chunk', '64', path('in')],
           pack('u64', [i for i, f in enumerate(flags) if f]))
    args = ['compact', '--flags', path('flags'), '-t', 'i32']
    expect_error('too few flags', args + [put('in', pack('i32', values + [1])), path('out')], '1003 flags for 1004 elements')
    expect_error('too many flags, from a pipe', args + ['-', path('out')], 'more flags than', pack('i32', values[:-1]))
    expect_error('too few flags, from a pipe', args + ['-', path('out')], 'fewer flags than', pack('i32', values + [1]))
    expect_error('flags of the wrong type', ['compact', '--flags', put('f.npy', npy('i32', values)), '-t', 'i32', path('in')], 'flags are bytes')


def sort_room():
    """What is said to fit leaves room for four chunks: chunks of an eighth of the memory take half of it. (Other programs may take some.)"""
    def room(*args):
        said = tool('sort', '-t', 'u8', '--low-memory', *args, path('huge'), path('k.out')).stderr
        return int(re.search(rb'room to sort ([0-9]+) elements', said).group(1))
    memory = room('--chunk', '4096')
    share = room('--chunk', str(memory // 8)) / memory
    check('chunks are counted', abs(share - 0.5) < 0.1, f'{share} of what fits with small ones')


def test_sort():
    for type_ in TYPES:
        keys = some(type_, 2003) + some(type_, 20) * 10
        put('in', pack(type_, keys))
        values = [rng.randbytes(5) for _ in keys]
        put('values', b''.join(values))
        half = bits(type_) // 2
        for descending in (False, True):
            for lo, hi in ((0, None), (3, half), (half - 1, bits(type_))):
                args = ['sort', '--type', type_] + ['--descending'] * descending + (['--bits', f'{lo}:{hi}'] if hi else [])
                indices = order(type_, keys, descending, lo, hi)
                wanted = pack(type_, [keys[i] for i in indices])
                expect(f'{args}', args + [path('in')], wanted)
                expect(f'{args} from a pipe', args + ['--chunk', '1000'], wanted, get('in'))
                expect(f'{args} --argsort', args + ['--argsort', '--chunk', '999', path('in')], pack('u64', indices))
                expect(f'{args} --argsort u32', args + ['--argsort', '--index-type', 'u32', path('in')], pack('u32', indices))
                pairs = args + ['--values', path('values'), '--value-size', '5', '--chunk', '1001', path('in'), path('out')]
                expect(f'{pairs}', pairs, wanted, out='out')
                check(f'{pairs}: values', get('out.values') == b''.join(values[i] for i in indices))
    put('in', bytes(range(255, -1, -1)))
    put('values', b''.join(bytes([i]) * 4096 for i in range(256)))
    for stdin, name in ((b'', path('in')), (get('in'), '-')):
        args = ['sort', '-t', 'u8', '--values', path('values'), '--value-size', '4096', '--chunk', '9000', name, path('out')]
        expect(f'{args}', args, bytes(range(256)), stdin, 'out')
        check(f'{args}: values', get('out.values') == get('values')[::-1])
    put('in', pack('f64', keys))
    v = integers('i64', len(keys))
    put('v.npy', npy('i64', v))
    expect('a chunk larger than the memory', ['sort', '-t', 'f64', '--chunk', '1T', path('in')], pack('f64', [keys[i] for i in order('f64', keys)]))
    expect('values of .npy', ['sort', '-t', 'f64', '--values', path('v.npy'), '--values-out', path('w.npy'), path('in'), path('out')],
           pack('f64', [keys[i] for i in order('f64', keys)]), out='out')
    check('values of .npy: values', get('w.npy')[128:] == pack('i64', [v[i] for i in order('f64', keys)]))
    expect('keys from a pipe, values to standard output',
           ['sort', '-t', 'f64', '--values', path('v.npy'), '--values-out', '-', '-', path('out')],
           npy('i64', [v[i] for i in order('f64', keys)]), pack('f64', keys))
    args = ['sort', '-t', 'u8', '--values', path('values'), '--value-size', '4096']
    expect_error('values of another number', args + [put('k', bytes(7)), path('k.out')], '256 values for 7 keys')
    expect_error('fewer values, from a pipe', args[:4] + ['-'] + args[5:] + [put('k', bytes(7)), path('k.out')], '3 values for 7 keys', bytes(3 * 4096))
    with open(path('huge'), 'wb') as f:
        f.truncate(1 << 40)
    expect_error('a file that does not fit', ['sort', '-t', 'u8', path('huge'), path('k.out')], 'does not fit in memory')
    sort_room()
    os.remove(path('huge'))


def test_npy():
    for type_ in TYPES:
        values = some(type_, 1003)
        for version in ((1, 0), (2, 0), (3, 0)):
            put('in.npy', npy(type_, values, version))
            expect(f'{type_} {version} sort', ['sort', path('in.npy'), path('out.npy')],
                   npy(type_, [values[i] for i in order(type_, values)]), out='out.npy')
        kept = [x for x in values if x == x and x >= 7]
        wanted = npy(type_, kept)
        expect(f'{type_} compact to a file', ['compact', '--where', '>=7', '--chunk', '99', path('in.npy'), path('out.npy')], wanted, out='out.npy')
        expect(f'{type_} compact to a pipe', ['compact', '--where', '>=7', '--chunk', '99', path('in.npy')], wanted)
        expect(f'{type_} from a pipe to raw', ['compact', '--where', '>=7', '-f', 'npy', '--out-format', 'raw'], pack(type_, kept), get('in.npy'))
        expect(f'{type_} raw to .npy', ['partition', '-t', type_, '--where', '>=7', '-', path('out.npy')],
               npy(type_, kept + [x for x in values if not (x == x and x >= 7)]), pack(type_, values), 'out.npy')
    put('in.npy', npy('i32', range(12), shape='(3, 4)'))
    expect('2-D in C order, flat', ['scan', path('in.npy')], npy('i32', scan('i32', 'add', range(12), False)))
    put('in.npy', npy('i32', [5], shape='()'))
    expect('0-D', ['scan', '--inclusive', path('in.npy')], npy('i32', [5]))
    put('in.npy', npy('i32', [], shape=f'({10**19}, 0, {10**19})'))
    expect('empty', ['scan', path('in.npy')], npy('i32', []))
    put('in.npy', npy('u8', [1, 0, 1], descr='|b1'))
    expect('booleans are bytes', ['sort', path('in.npy')], npy('u8', [0, 1, 1]))
    put('in.npy', npy('i16', [1, 2], text='{ "shape" : (2L ,) ,"fortran_order":True, "descr":"<i2"}'))
    expect('another writer', ['scan', path('in.npy')], npy('i16', [0, 1]))


def test_bad_npy():
    good = npy('i32', [1, 2, 3])
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': %s, }"
    cases = [
        ('no magic', b'\x93NUMPX' + good[6:], 'is not a .npy file'),
        ('version 4', npy('i32', [1], (4, 0)), 'has .npy version 4.0'),
        ('nothing', b'', 'ends within its .npy header'),
        ('the magic alone', good[:8], 'ends within its .npy header'),
        ('half a header', good[:40], 'ends within its .npy header'),
        ('a long header', npy('i32', [1], (2, 0), text=header % '(1,)' + ' ' * 10001), 'the most is 10000'),
        ('a very long header', b'\x93NUMPY\x02\x00\xff\xff\xff\xff' + good[10:], 'the most is 10000'),
        ('big-endian', npy('i32', [1], descr='>i4'), "is big-endian (type '>i4')"),
        ('objects', npy('i32', [1], descr='|O'), 'Python objects'),
        ('strings', npy('i32', [1], descr='<U1'), "elements of type '<U1'"),
        ('half floats', npy('i16', [1], descr='<f2'), "elements of type '<f2'"),
        ('complex', npy('f64', [1], descr='<c8'), "elements of type '<c8'"),
        ('fields', npy('i32', [1], text="{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }"), 'several fields'),
        ('Fortran order', npy('i32', [1, 2, 3, 4], shape='(2, 2)', fortran=True), 'Fortran order'),
        ('no dictionary', npy('i32', [1], text='[1]'), 'not a dictionary'),
        ('a call', npy('i32', [1], text="__import__('os').system('true')"), 'not a dictionary'),
        ('no shape', npy('i32', [1], text="{'descr': '<i4', 'fortran_order': False, }"), 'without'),
        ('a key twice', npy('i32', [1], text="{'shape': (1,), 'shape': (1,), }"), 'does not belong'),
        ('a foreign key', npy('i32', [1], text="{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'x': 1, }"), 'does not belong'),
        ('no end', npy('i32', [1], text="{'descr': '<i4', 'fortran_order': False, 'shape': (1,), "), 'cannot be read'),
        ('no commas', npy('i32', [1], text="{'descr': '<i4' 'fortran_order': False 'shape': (1,) }"), 'cannot be read'),
        ('something after it', npy('i32', [1], text=header % '(1,)' + 'x'), 'after its dictionary'),
        ('a strange order', npy('i32', [1], fortran='maybe'), 'neither True nor False'),
        ('a negative shape', npy('i32', [1], shape='(-1,)'), 'whole numbers'),
        ('a fraction', npy('i32', [1], shape='(1.5,)'), 'whole numbers'),
        ('a number as shape', npy('i32', [1], shape='1'), 'not a tuple'),
        ('a number in brackets', npy('i32', [1], shape='(1)'), 'not a tuple'),
        ('a huge number', npy('i32', [1], shape='(99999999999999999999999,)'), 'shape is not'),
        ('a huge count', npy('i32', [1], shape='(4611686018427387904,)'), 'too large'),
        ('a huge product', npy('i32', [1], shape='(4294967296, 4294967296, 4294967296)'), 'too large'),
        ('too few data', good[:-4], 'has 8 bytes of data where its header says 12'),
        ('half an element', good[:-1], 'has 11 bytes of data where its header says 12'),
        ('too many data', good + b'x', 'has 13 bytes of data where its header says 12'),
        ('far too few data', npy('i32', [1], shape='(1000000000000,)'), 'where its header says'),
    ]
    for what, data, sentence in cases:
        expect_error(f'.npy with {what}', ['scan', put('bad.npy', data), path('bad.out')], sentence)
    pipe = ['scan', '--format', 'npy', '-', path('bad.out')]
    expect_error('.npy from a pipe, too few data', pipe, 'ends after 2 elements of 3', good[:-4])
    expect_error('.npy from a pipe, half an element', pipe, 'ends within element 2', good[:-1])
    expect_error('.npy from a pipe, too many data', pipe, 'goes on after its 3 elements', good + b'x')
    expect_error('.npy of another type', ['scan', '--type', 'f32', put('bad.npy', good), path('bad.out')], 'holds i32, not the f32')


def test_text():
    for type_ in TYPES:
        values = [x for x in some(type_, 1003) if x == x]
        if is_float(type_):
            values += [0.1, 1e-45 if type_ == 'f32' else 5e-324, 1 / 3, 3.4028234663852886e38, -1e-10]
        raw = pack(type_, values)
        exact = list(struct.unpack(f'<{len(values)}{CODES[type_]}', raw))
        lines = ''.join(f'{x!r}\n' if is_float(type_) else f'{x}\n' for x in exact)
        args = ['partition', '--where', '>= 0', '--type', type_]
        wanted = [x for x in exact if x >= 0] + [x for x in exact if not x >= 0]
        expect(f'text {type_} to raw', args + ['-f', 'text', '--out-format', 'raw', '--chunk', '500'], pack(type_, wanted), lines.encode())
        run = tool(*args, '--out-format', 'text', stdin=raw)
        parse = float if is_float(type_) else int
        check(f'raw {type_} to text', run.returncode == 0 and pack(type_, [parse(x) for x in run.stdout.split()]) == pack(type_, wanted))
    put('in.txt', b' 12\t\r\n-0x10\r\n+3')
    expect('blanks, CR LF, hexadecimal, no last newline', ['scan', '-i', path('in.txt')], b'12\n-4\n-1\n')
    expect('.txt to .npy', ['scan', '-i', path('in.txt'), path('out.npy')], npy('i64', [12, -4, -1]), out='out.npy')
    expect('shortest floats', ['compact', '-f', 'text', '-t', 'f32'], b'0.1\n1e+10\n16777216\n', b'0.1\n1e10\n16777216\n')
    for type_, line, sentence in [('i64', b'abc', "'abc' is not a whole number"), ('i64', b'1.5', 'is not a whole number'),
                                  ('i64', b'', "'' is not a whole number"), ('i64', b'1 2', 'is not a whole number'),
                                  ('i64', b'0x', 'is not a whole number'), ('i64', b'-', 'is not a whole number'),
                                  ('i64', b'9223372036854775808', 'does not fit i64'), ('i64', b'99999999999999999999999', 'does not fit i64'),
                                  ('i8', b'128', 'does not fit i8'), ('i8', b'-129', 'does not fit i8'), ('u8', b'-1', 'does not fit u8'),
                                  ('u64', b'18446744073709551616', 'does not fit u64'), ('f32', b'1e39', 'does not fit f32'),
                                  ('f64', b'1e999', 'does not fit f64'), ('f64', b'1,5', 'is not a number'), ('f64', b'', 'is not a number'),
                                  ('i64', b'1\0', 'NUL'), ('i64', b'1' * 70000, 'too long'), ('i64', b'\x1b[2J', "'?[2J' is not")]:
        expect_error(f'text {type_} {line[:30]}', ['scan', '-f', 'text', '-t', type_, '-', path('bad.out')], 'standard input: line 3: ',
                     b'1\n2\n' + line + b'\n4\n')
        expect_error(f'text {type_} {line[:30]}', ['scan', '-f', 'text', '-t', type_, '-', path('bad.out')], sentence,
                     b'1\n2\n' + line + b'\n4\n')


def test_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        work = path('signals')
        for command in (['scan'], ['compact'], ['partition', '--where', '<3'], ['partition', '--rest', os.path.join(work, 'rest')]):
            files = 2 if '--rest' in command else 1
            os.mkdir(work)
            out = os.path.join(work, 'out')
            with open(out, 'wb') as f:
                f.write(b'old')
            run = subprocess.Popen([TOOL, *command, '-t', 'u8', '--chunk', '16', '-', out], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=dict(os.environ, TMPDIR=work))
            run.stdin.write(bytes(range(100)))
            run.stdin.flush()
            for _ in range(1000):
                ours = [name for name in os.listdir(work) if '.upsweep-' in name]  # a sanitizer's own files come and go in TMPDIR, too
                if len(ours) == files:
                    break
                time.sleep(0.01)
            appeared = len(ours) == files
            run.send_signal(number)
            said = run.stderr.read()
            run.wait()
            run.stdin.close()
            what = f'{number.name} during {command}'
            check(f'{what}: there was a temporary file', appeared)
            check(f'{what}: dies of it, silently', run.returncode == -number and said == b'', f'{run.returncode} {said}')
            check(f'{what}: nothing is left', os.listdir(work) == ['out'] and open(out, 'rb').read() == b'old', os.listdir(work))
            os.remove(out)
            os.rmdir(work)


def test_non_blocking():
    """Pipes that refuse for a while, as a terminal does that another program has left so."""
    data = bytes(i * i % 251 for i in range(1 << 18))  # more than a pipe holds
    (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
    os.set_blocking(read_in, False)
    os.set_blocking(write_out, False)
    run = subprocess.Popen([TOOL, 'scan', '-i', '-t', 'u8', '--chunk', '1000'], stdin=read_in, stdout=write_out, stderr=subprocess.PIPE)
    os.close(read_in)
    os.close(write_out)
    time.sleep(0.05)  # it reads before there is anything
    feeder = threading.Thread(target=lambda: open(write_in, 'wb').write(data))
    feeder.start()
    time.sleep(0.05)  # it writes when there is no more room
    got = open(read_out, 'rb').read()
    feeder.join()
    said = run.stderr.read()
    check('pipes that do not block', run.wait() == 0 and said == b'' and got == bytes(x & 255 for x in itertools.accumulate(data)), said)


def test_info():
    run = tool('info', '--json')
    info = json.loads(run.stdout)
    check('info --json', info['licence'] == 'MIT' and info['devices'][0]['backend'] == 'cpu' and info['devices'][0]['units'] > 0)
    check('info', info['version'].encode() in tool('info').stdout)


def test_numpy():
    try:
        import numpy
    except ImportError:
        return
    for type_ in TYPES:
        values = numpy.array([1, 5, 0, 3, 2, 8, 0, 7] * 50).astype(f'{type_[0]}{bits(type_) // 8}')
        numpy.save(path('in.npy'), values)
        for name, args, wanted in [('sort', ['sort'], numpy.sort(values)), ('scan', ['scan', '-i'], numpy.cumsum(values, dtype=values.dtype)),
                                   ('compact', ['compact', '--where', '>2'], values[values > 2])]:
            tool(*args, path('in.npy'), path('out.npy'))
            got = numpy.load(path('out.npy'))
            check(f'numpy reads {name} of {type_}', got.dtype == values.dtype and numpy.array_equal(got, wanted))


for test in [test_scan, test_compact, test_flags, test_sort, test_npy, test_bad_npy, test_text, test_signals, test_non_blocking, test_info, test_numpy]:
    test()
check('no temporary file is left', not any('.upsweep-' in name for name in os.listdir(DIR)))
print(f'{passed} passed, {failed} failed')
sys.exit(failed > 0)
