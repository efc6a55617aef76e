"""Steps that prove the backend right: what the machine is, exit codes, tests, golden cases, sanitizers."""
import fnmatch
import os
import re
import shutil

from .session import Failed, NotRun

# Most telling first. Whatever else the bundle holds has little to do with the device and comes at the end of all steps.
ORDER = ['kokkos', 'machine_gate', 'machine_math', 'golden.layers', 'layer.convolution', 'layer.values', 'layer.shapes', 'layer.*',
         'golden.train', 'golden.nets', 'net', 'solver', 'codec', 'models', 'comm.ranks1', 'comm.ranks2', 'tuner']
LONG = ('golden.nets', 'golden.train', 'models', 'models_training', 'layer.*')  # whole nets, and many layers in one
# Behind a colon the one suite of the test that is run.
SANITIZED = {'memcheck': ['kokkos', 'machine_gate', 'layer.convolution:ConvolutionTest', 'layer.shapes:PoolingTest', 'layer.values:BatchNormTest', 'solver'],
             'racecheck': ['kokkos', 'machine_gate', 'layer.values:BatchNormTest', 'layer.values:SoftmaxTest', 'layer.values:LrnTest',
                           'layer.convolution:InnerProductTest'],
             'initcheck': ['kokkos', 'machine_gate', 'layer.convolution:ConvolutionTest'],
             'synccheck': ['kokkos', 'machine_gate']}


def machine(session):
    """The host's processor and tools."""
    facts = {}
    with open('/proc/cpuinfo') as file:
        text = file.read()
    model = re.search(r'model name\s*: (.*)', text)
    flags = (re.search(r'flags\s*: (.*)', text) or [0, ''])[1].split()
    facts['processor'] = model.group(1) if model else 'unknown'
    facts['cpus'] = len(os.sched_getaffinity(0))
    facts['vectors'] = [f for f in flags if f in ('avx2', 'avx512f', 'avx512_bf16', 'amx_bf16', 'amx_tile')]
    for tool, question in (('nvidia-smi', ['-q', '-d', 'CLOCK,POWER,MEMORY']), ('nvcc', ['--version']), ('compute-sanitizer', ['--version']),
                           ('ncu', ['--version'])):
        found = shutil.which(tool)
        facts[tool] = session.run([found, *question], 20, clean=True).last_words(2) if found else 'not in PATH'
    facts['says'] = '%s, %d CPUs, %s' % (facts['processor'], facts['cpus'], ' '.join(facts['vectors']))
    return facts


def device_query(session):
    done = session.run(['bin/cortado', 'device_query'], 40)
    if done.code != 0:
        raise Failed('exit %s: %s' % (done.code, done.last_words()))
    return {'text': done.text[-3000:]}


def exits(words, wanted, says=None, **variables):
    """A step: the command ends with this exit code, and says this."""
    def step(session):
        done = session.run(words, 40, **variables)
        if done.code != wanted or (says and not re.search(says, done.text)):
            raise Failed('exit %s instead of %d: %s' % (done.code, wanted, done.last_words()))
        return {'says': done.last_words(1)}
    return step


def read_tests(session, preset=None):
    """{name: (binary, ranks, environment)} of the bundle."""
    tests = {}
    with open(os.path.join(session.root, preset or session.preset, 'tests')) as file:
        for line in file:
            name, binary, ranks, _, settings = line.split()
            tests[name] = binary, ranks, dict(s.split('=', 1) for s in settings.split(',') if '=' in s)
    return tests


def ordered(names):
    """The names in the order of what they tell: those of the device, and the others."""
    first = list(dict.fromkeys(name for pattern in ORDER for name in names if fnmatch.fnmatch(name, pattern)))
    return first, [name for name in names if name not in first]


def read_gtest(done):
    """What a GoogleTest binary's output says; raises what it found."""
    passed = re.search(r'\[  PASSED  \] (\d+) test', done.text)
    failed = sorted(set(re.findall(r'^\[  FAILED  \] (\w[\w./]*\.[\w/]+)', done.text, re.M)))
    skipped = re.search(r'\[  SKIPPED \] (\d+) test', done.text)
    facts = {'passed': int(passed.group(1)) if passed else 0, 'skipped': int(skipped.group(1)) if skipped else 0}
    facts['says'] = '%d passed' % facts['passed'] + (', %d skipped' % facts['skipped'] if facts['skipped'] else '')
    if done.code == 0:
        return facts
    running = re.findall(r'\[ RUN      \] (\S+)', done.text)
    if done.code is None:
        raise Failed('stopped at its limit in %s; failed before: %s' % (running[-1] if running else 'its start', ', '.join(failed) or 'none'))
    if failed and 'FAILED TEST' in done.text:
        first = re.search(r'^.*(?:Failure|exception).*(?:\n.*){0,6}', done.text, re.M)
        raise Failed('%s\n%s' % (', '.join(failed), first.group(0) if first else ''))
    place = 'after the last test' if passed and not failed else 'in ' + (running[-1] if running else 'its start')
    raise Failed('exit %d %s: %s' % (done.code, place, done.last_words()))


def test(name, backend, preset=None):
    """A step: the test on the backend alone."""
    limit = 120 if any(fnmatch.fnmatch(name, pattern) for pattern in LONG) else 75

    def step(session):
        binary, ranks, settings = read_tests(session, preset)[name]
        variables = dict(settings, CORTADO_CONFIGURATION='backend=' + backend)
        command = [session.program(binary, preset)]
        if '.ranks' in name:
            command = ['bin/mpirun', '-n', ranks, *command]
        return read_gtest(session.run(command, limit, preset, **variables))
    return step


def test_steps(session, backend):
    """Steps of the tests that reach the device, and of the others."""
    return [[('tests.' + name, test(name, backend)) for name in names] for names in ordered(read_tests(session))]


def sanitized(tool, name, backend):
    """A step: the test, or the suite of it that the name says, under one of compute-sanitizer's tools."""
    name, _, suite = name.partition(':')
    def step(session):
        found = shutil.which('compute-sanitizer')
        if not found or session.rehearse:
            raise NotRun('compute-sanitizer is not in PATH' if not found else 'a rehearsal has no device')
        tests = read_tests(session)
        if name not in tests:
            raise NotRun('the bundle does not hold the test')
        binary, _, settings = tests[name]
        if suite:
            settings = dict(settings, GTEST_FILTER='*%s.*' % suite)
        done = session.run([found, '--tool', tool, '--error-exitcode', '9', '--print-limit', '20', session.program(binary)], 100,
                           CORTADO_CONFIGURATION='backend=' + backend, **settings)
        summary = re.search(r'(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)\S*.*', done.text)
        found = re.findall(r'^========= (?:(?:Error|Warning): .*|Invalid .*|Uninitialized .*|Barrier error .*|.*[Hh]azard.*)', done.text, re.M)
        if summary is None and done.code is None:
            if found:
                raise Failed('before its limit: ' + ' | '.join(found[:4]))
            raise NotRun('stopped at its limit, nothing found until then; last: ' + done.last_words(2))
        refused = re.search(r'^.*(?:not supported|not permitted|insufficient permissions).*$', done.text, re.M | re.I)
        if summary is None or refused:
            raise NotRun(refused.group(0) if refused else done.last_words())
        if int(summary.group(1)) > 0:
            raise Failed(summary.group(0) + ': ' + ' | '.join(found[:4]))
        if done.code != 0 and '[       OK ]' not in done.text:
            raise NotRun('no test passed under the tool: ' + done.last_words())
        facts = read_gtest(done)
        if facts['passed'] == 0:
            raise NotRun('the test has no case' + (' of suite ' + suite if suite else ''))
        return dict(facts, says=summary.group(0))
    return step


def sanitizer_steps(backend):
    """The tools side by side on their most telling tests first."""
    depth = max(map(len, SANITIZED.values()))
    return [('%s.%s' % (tool, names[i]), sanitized(tool, names[i], backend))
            for i in range(depth) for tool, names in SANITIZED.items() if i < len(names)]
