"""Steps that time: whole nets and convolutions beside PyTorch, the longest kernels, and the host's cores."""
import csv
import json
import os
import queue
import re
import shutil
import subprocess
import threading

from .session import Failed, NotRun
from .tests import read_tests, test

NETS = ['resnet50', 'vgg16', 'alexnet_bn', 'googlenet', 'alexnet', 'vgg19']  # the most telling first
PRECISIONS = [('fp32', 'nhwc'), ('tf32', 'nhwc'), ('bf16', 'nhwc'), ('fp32', 'nchw')]
METRICS = {'gpu__time_duration.sum': 'ns', 'sm__throughput.avg.pct_of_peak_sustained_elapsed': 'compute %',
           'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed': 'memory %', 'sm__warps_active.avg.pct_of_peak_sustained_active': 'warps %',
           'launch__registers_per_thread': 'registers', 'launch__grid_size': 'blocks'}


def net_text(session, name, batch):
    """The net with `batch` images of constant data: drawing numbers is not training."""
    with open(os.path.join(session.root, 'models', name, 'train_val.prototxt')) as file:
        text = file.read()
    text = re.sub(r'(shape\s*\{\s*dim:\s*)\d+', r'\g<1>%d' % batch, text)
    return re.sub(r'data_filler\s*\{\s*type:\s*"gaussian"[^}]*\}', 'data_filler { type: "constant" value: 1 }', text)


def net_file(session, name, batch):
    path = os.path.join(session.work, '%s.%d.prototxt' % (name, batch))
    with open(path, 'w') as file:
        file.write(net_text(session, name, batch))
    return path


class Torch:
    """One process of scripts/torch-time that answers all requests; begun at the first, and anew if one takes too long."""

    def __init__(self, python, algorithms):
        self.python, self.process, self.lines = python, None, None
        self.algorithms = algorithms  # that cuDNN's benchmark tries for each convolution
        self.refused = None

    def start(self, session):
        if self.refused:
            raise NotRun(self.refused)
        python = self.python or shutil.which('python3')
        if not python:
            self.refused = 'no python3 in PATH'
            raise NotRun(self.refused)
        log = open(os.path.join(session.work, 'torch.log'), 'w')
        self.process = subprocess.Popen([python, os.path.join(session.root, 'scripts/torch-time'), '--serve'], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        session.groups.add(self.process.pid)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def stop(self, session):
        if self.process:
            session.stop_group(self.process.pid)
            self.process.wait()
            session.groups.discard(self.process.pid)
        self.process = None

    def ask(self, session, limit, **request):
        if not self.process:
            self.start(session)
        limit = min(limit, session.left())
        try:
            if limit < 2:
                raise NotRun('the time for all steps was up')
            self.process.stdin.write(json.dumps(dict(request, algorithms=self.algorithms)) + '\n')
            self.process.stdin.flush()
            line = self.lines.get(timeout=limit)
        except queue.Empty:
            self.stop(session)
            raise NotRun('PyTorch gave no answer in %.0f s' % limit) from None
        except BrokenPipeError:
            line = None
        if line is None:
            with open(os.path.join(session.work, 'torch.log')) as file:
                why = file.read().strip().splitlines()[-1:]
            self.refused = 'PyTorch does not run: %s' % (why[0] if why else 'it ended')
            self.process = None
            raise NotRun(self.refused)
        answer = json.loads(line)
        request.pop('net')
        session.log('PyTorch %s\n%s\n' % (request, line))
        if 'error' in answer:
            raise NotRun(answer['error'])
        return answer


def ours(name, batch, iterations, preset=None, limit=45, threads=None, precision='fp32', multiply='fp32', tuned=False):
    """A step: `cortado time` of the net, with all its layers, longest first; `tuned`: by the plans that `tune` finds."""
    def step(session):
        path = net_file(session, name, batch)
        rows_file = '%s.%s.%s.json' % (path, precision, multiply)
        variables = {'OMP_NUM_THREADS': str(threads)} if threads else {}
        how = ['--model', path, '--precision', precision, '--multiply', multiply]
        plans = []
        if tuned:
            plans = ['--tuning', rows_file + '.tuning']
            done = session.run(['bin/cortado', 'tune', *how, '--iterations', '3', '--out', plans[1]], limit, preset, **variables)
            if done.code != 0:
                raise NotRun('tune: exit %s: %s' % (done.code, done.last_words()))
        done = session.run(['bin/cortado', 'time', *how, *plans, '--iterations', str(iterations), '--json', rows_file], limit, preset, **variables)
        if done.code is None:
            raise NotRun('stopped at its limit of %d s' % limit)
        if done.code != 0:
            raise Failed('exit %d: %s' % (done.code, done.last_words()))
        with open(rows_file) as file:
            rows = json.load(file)['rows']
        whole = rows.pop()
        longest = sorted((r for r in rows if 'ms' in r), key=lambda r: -r['ms'])
        return {'ms': whole['ms'], 'images_per_s': 1e3 * batch / whole['ms'], 'layers': longest,
                'says': '%.1f ms, %.0f images/s' % (whole['ms'], 1e3 * batch / whole['ms'])}
    return step


def theirs(torch, name, batch, seconds, device, precision='fp32', layout='nhwc', threads=None):
    """A step: PyTorch's time of the same net."""
    def step(session):
        answer = torch.ask(session, 60, net=net_text(session, name, batch), batch=batch, seconds=seconds, device=device, precision=precision,
                           layout=layout, threads=threads or os.cpu_count())
        return dict(answer, images_per_s=1e3 * batch / answer['ms'], says='%.1f ms, %.0f images/s' % (answer['ms'], 1e3 * batch / answer['ms']))
    return step


def our_convolutions(name, batch):
    """A step: the quickest candidate of every convolution and direction."""
    def step(session):
        path = net_file(session, name, batch)
        rows_file = path + '.conv.json'
        done = session.run(['bin/cortado', 'bench', 'conv', '--set', path, '--batch', str(batch), '--json', rows_file], 75)
        if done.code is None:
            raise NotRun('stopped at its limit')
        if done.code != 0:
            raise Failed('exit %d: %s' % (done.code, done.last_words()))
        with open(rows_file) as file:
            rows = json.load(file)['rows']
        rows = [{'layer': r['layer'], 'direction': r['direction'], 'ms': 1e3 * r['seconds'], 'plan': r.get('plan')} for r in rows if r['chosen']]
        return {'rows': rows, 'says': '%d of them, %.1f ms' % (len(rows), sum(r['ms'] for r in rows))}
    return step


def their_convolutions(torch, name, batch, device, precision):
    """A step: cuDNN's (on a CPU oneDNN's) time of the same through PyTorch."""
    def step(session):
        answer = torch.ask(session, 40, net=net_text(session, name, batch), batch=batch, device=device, precision=precision, convolutions=True,
                           threads=os.cpu_count())
        return dict(answer, says='%d of them, %.1f ms' % (len(answer['rows']), sum(r['ms'] for r in answer['rows'])))
    return step


def convolution_steps(torch, name, batch, device):
    precisions = ('fp32', 'tf32', 'bf16') if device == 'cuda' else ('fp32', 'bf16')
    return [('convolutions.%s.cortado' % name, our_convolutions(name, batch))] + [
        ('convolutions.%s.pytorch.%s' % (name, p), their_convolutions(torch, name, batch, device, p)) for p in precisions]


def convolution_table(steps, name):
    """Lines: each convolution's time beside PyTorch's, longest first."""
    def of(program):
        rows = steps.get('convolutions.%s.%s' % (name, program), {}).get('rows', [])
        return {(r['layer'], r['direction']): r['ms'] for r in rows}
    mine, others = of('cortado'), {p: of('pytorch.' + p) for p in ('fp32', 'tf32', 'bf16')}
    others = {p: rows for p, rows in others.items() if rows}
    lines = []
    for key, ms in sorted(mine.items(), key=lambda item: -item[1])[:8] if others else []:
        lines.append('%-40s %8.3f ms  %s' % (' '.join(key), ms, '  '.join('%s %.3f' % (p, rows[key]) for p, rows in others.items() if key in rows)))
    for p, rows in others.items():
        both = [key for key in mine if key in rows]
        lines.append('all %d: ours %.1f ms, PyTorch %s %.1f ms' % (len(both), sum(mine[k] for k in both), p, sum(rows[k] for k in both)))
    return lines


def short_name(kernel):
    """The program's name instead of Kokkos' launcher with it inside; a library's kernel without its arguments."""
    program = re.search(r'Kernel<(.*?)\s*>, Kokkos::TeamPolicy', kernel)
    return program.group(1).replace('cortado::', '') if program else kernel.split('(')[0][:100]


def read_profile(text, metrics):
    """ncu's CSV as rows by kernel: launches, sum of time, and the figures of the longest launch; longest kernels first."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    kernels = {}
    for row in csv.DictReader(lines[start:]):
        try:
            figures = {METRICS[metric]: float(row[metric].replace(',', '')) for metric in metrics}
        except (KeyError, ValueError, AttributeError, TypeError):
            continue  # the row of units, or a line of the program
        kernel = kernels.setdefault(short_name(row['Kernel Name']), {'launches': 0, 'sum_ns': 0.0, 'longest': None})
        kernel['launches'] += 1
        kernel['sum_ns'] += figures['ns']
        if kernel['longest'] is None or figures['ns'] > kernel['longest']['ns']:
            kernel['longest'] = figures
    rows = [dict(row, kernel=name) for name, row in kernels.items()]
    return sorted(rows, key=lambda row: -row['sum_ns'])


def profile(name, batch):
    """A step: the time of every kernel of some iterations by ncu, then the hardware counters of the ten longest. Counters take
    several passes over a kernel, and ncu saves the device's memory for each, so only one launch of each is counted."""
    def step(session):
        found = shutil.which('ncu')
        if not found:
            raise NotRun('ncu is not in PATH; times.%s.%d.cortado.fp32 has the longest layers' % (name, batch))
        command = [session.program('cortado'), 'time', '--model', net_file(session, name, batch), '--iterations', '1']

        def counted(metrics, limit, *more):
            done = session.run([found, '--csv', '--page', 'raw', '--print-units', 'base', '--clock-control', 'none', '--metrics',
                                ','.join(metrics), *more, *command], limit)
            return read_profile(done.text, metrics), done

        rows, done = counted(list(METRICS)[:1], 60, '--launch-count', '3000')
        if not rows:
            raise NotRun('%s; times.%s.%d.cortado.fp32 has the longest layers' % (done.last_words(), name, batch))
        for row in rows[:10]:
            figures, _ = counted(list(METRICS), 12, '--kernel-name-base', 'demangled', '--kernel-name', 'regex:' + re.escape(row['kernel'].split('<')[0]), '--launch-skip', '2',
                                 '--launch-count', '1')
            row['longest'] = figures[0]['longest'] if figures else row['longest']
        total = sum(r['sum_ns'] for r in rows)
        return {'ms': total / 1e6, 'kernels': rows[:10],
                'says': ', '.join('%s %.0f %%' % (r['kernel'], 100 * r['sum_ns'] / total) for r in rows[:4])}
    return step


def device_steps(session, torch, device):
    """Most telling first: the two nets at 64, their convolutions and kernels, then everything else."""
    small = session.rehearse
    batches, seconds, iterations = ([2, 4], 0.2, 1) if small else ([64, 256], 1.0, 5)
    nets = ['alexnet_bn', 'googlenet'] if small else NETS

    def of(name, batch):
        steps = [('times.%s.%d.cortado.%s%s' % (name, batch, multiply, '.tuned' if tuned else ''),
                  ours(name, batch, iterations if batch < 256 else 3, multiply=multiply, tuned=tuned))
                 for tuned in (False, True) for multiply in ('fp32', 'tf32')]
        for precision, layout in PRECISIONS:
            steps.append(('times.%s.%d.pytorch.%s.%s' % (name, batch, precision, layout),
                          theirs(torch, name, batch, seconds, device, precision, layout)))
        return steps

    first, rest = nets[:2], nets[2:]
    steps = [step for name in first for step in of(name, batches[0])]
    steps += [('profile.' + first[0], profile(first[0], batches[0])), *convolution_steps(torch, first[0], batches[0], device)]
    steps += [step for name in rest for step in of(name, batches[0])]
    steps += [step for name in nets for step in of(name, batches[1])]
    return steps + [('profile.' + first[1], profile(first[1], batches[0])), *convolution_steps(torch, first[1], batches[0], device)]


def host_steps(session, torch):
    """The OpenMP build on the host: the matrix unit first, then threads beside PyTorch."""
    if 'openmp' not in session.presets():
        def missing(_):
            raise NotRun('the bundle holds no preset openmp')
        return [('host', missing)]
    cpus = len(os.sched_getaffinity(0))
    with open('/proc/cpuinfo') as file:
        has_amx = 'amx_bf16' in file.read()
    tests = [name for name in ('kokkos', 'machine_gate', 'layer.convolution') if name in read_tests(session, 'openmp')]
    steps = [('host.tests.' + name, test(name, 'openmp', 'openmp')) for name in tests]
    small = session.rehearse
    nets = [('alexnet_bn', 2)] if small else [('resnet50', 16), ('alexnet_bn', 32), ('vgg16', 8)]
    counts = [t for t in (16, 8, 4, 2, 1) if t <= cpus] or [1]

    def both(name, batch, threads, precision):
        label = 'host.%s.%d.%s.%d_threads' % (name, batch, precision, threads)
        return [(label + '.cortado', ours(name, batch, 1 if small else 3, 'openmp', 45, threads, precision)),
                (label + '.pytorch', theirs(torch, name, batch, 0.1 if small else 2.0, 'cpu', precision, 'nhwc', threads))]

    if has_amx or small:
        steps += [step for name, batch in nets for step in both(name, batch, counts[0], 'bf16')]
    return steps + [step for threads in counts for name, batch in nets for step in both(name, batch, threads, 'fp32')]
