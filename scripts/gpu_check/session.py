"""What a check runs in: the bundle's environment, limits, the log and the results, which survive a cut."""
import fnmatch
import json
import os
import re
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

DONE = ('passed', 'failed')  # what a later run need not repeat


class NotRun(Exception):
    """A step cannot be made here; the text says why, if it can in the refusing tool's own words."""


class Failed(Exception):
    """A step found a fault."""


class Output:
    """How a command ended: `code` is None if it was stopped at its limit."""

    def __init__(self, code, text, seconds):
        self.code, self.text, self.seconds = code, text, seconds

    def last_words(self, count=6):
        return '\n'.join([line for line in self.text.splitlines() if line.strip()][-count:])[-1500:]


class Session:
    def __init__(self, root, out, preset, seconds, rehearse):
        self.root, self.out, self.preset, self.rehearse = root, out, preset, rehearse
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.groups = set()
        self.results = {'steps': {}}
        self.environments = {}
        self.work = os.path.join('/tmp', 'gpu-check.%d' % os.getpid())
        os.makedirs(self.work, exist_ok=True)
        os.makedirs(out, exist_ok=True)
        self.log_file = open(os.path.join(out, 'gpu-check.log'), 'a', buffering=1)

    def left(self):
        return self.end - time.monotonic()

    def presets(self):
        with open(os.path.join(self.root, 'presets')) as file:
            return file.read().split()

    def environment(self, preset=None):
        """What bin/cortado would set, as a dictionary."""
        preset = preset or self.preset
        if preset not in self.environments:
            done = subprocess.run(['bin/cortado-environment'], cwd=self.root, env=dict(os.environ, CORTADO_PRESET=preset),
                                  capture_output=True, text=True)
            if done.returncode:
                raise NotRun(done.stderr.strip())
            made = dict(os.environ, CORTADO_PRESET=preset, OMP_MAX_ACTIVE_LEVELS='2')
            made.update((name, value) for name, value in re.findall(r"(\w+)='([^']*)'", done.stdout) if value)
            golden = os.path.join(self.root, 'golden')
            if os.path.isdir(golden):
                made.setdefault('CORTADO_GOLDEN', golden)
            self.environments[preset] = made
        return self.environments[preset]

    def program(self, name, preset=None):
        return os.path.join(self.environment(preset)['CORTADO_PROGRAMS'], name)

    def run(self, command, limit, preset=None, folder=None, clean=False, **variables):
        """Runs a command, at most `limit` seconds and not past the end; `clean`: without the bundle's environment."""
        limit = min(limit, self.left())
        if limit < 2:
            raise NotRun('the time for all steps was up')
        environment = dict(os.environ) if clean else dict(self.environment(preset))
        environment.update(variables)
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder or self.root, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.groups.add(process.pid)
        try:
            text, code = process.communicate(timeout=limit)[0], process.returncode
        except subprocess.TimeoutExpired:
            self.stop_group(process.pid)
            text, code = process.communicate()[0], None
        self.groups.discard(process.pid)
        output = Output(code, text.decode(errors='replace'), time.monotonic() - begin)
        how = 'stopped at its limit' if code is None else 'exit %d' % code
        shown = ' '.join(command).replace(self.root + '/', '')
        self.log('$ %s\n%s\n[%s, %.1f s]\n' % (shown[:1000], shorten(output.text), how, output.seconds))
        return output

    def stop_group(self, group):
        for number in signal.SIGTERM, signal.SIGKILL:
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                return
            time.sleep(0.5)

    def stop_all(self):
        for group in list(self.groups):
            self.stop_group(group)

    def log(self, text):
        with self.lock:
            self.log_file.write(text + '\n')

    def save(self):
        with self.lock:
            path = os.path.join(self.out, 'gpu-check.json')
            with open(path + '.new', 'w') as file:
                json.dump(self.results, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(path + '.new', path)

    def take_earlier(self, path, again):
        """Takes over what an earlier run on the same commit and device has done, but for the steps to make again."""
        try:
            with open(path) as file:
                earlier = json.load(file)
        except (OSError, ValueError):
            return
        mine = [self.results.get(key) for key in ('commit', 'device')]
        if [earlier.get(key) for key in ('commit', 'device')] != mine:
            print('%s is of %s on %s: nothing of it is taken over' % (path, earlier.get('commit'), earlier.get('device')))
            return
        for name, step in earlier['steps'].items():
            if step['state'] in DONE and not any(fnmatch.fnmatch(name, pattern) for pattern in again):
                self.results['steps'][name] = step

    def make(self, step):
        """Makes one step and writes down how it went."""
        name, work = step
        if name in self.results['steps'] and self.results['steps'][name]['state'] in DONE:
            return
        begin = time.monotonic()
        result = {'state': 'passed'}
        try:
            if self.left() < 3:
                raise NotRun('the time for all steps was up')
            result.update(work(self) or {})
        except NotRun as why:
            result.update(state='not run', why=str(why))
        except Failed as fault:
            result.update(state='failed', why=str(fault))
        except Exception as error:  # a fault of this script must not end the others
            result.update(state='failed', why='gpu-check: %s: %s' % (type(error).__name__, error))
        result['seconds'] = round(time.monotonic() - begin, 1)
        with self.lock:
            self.results['steps'][name] = result
        self.save()
        words = result.get('why', '') or result.get('says', '')
        print('%-8s %-46s %5.1f s  %s' % (result['state'], name, result['seconds'], words.replace('\n', ' | ')[:200]), flush=True)

    def make_all(self, steps, at_once=1):
        with ThreadPoolExecutor(max_workers=at_once) as pool:
            list(pool.map(self.make, steps))


def shorten(text, most=20000):
    """The beginning and the end of a long text."""
    return text if len(text) <= most else '%s\n... (%d characters) ...\n%s' % (text[:most // 4], len(text) - most, text[-most * 3 // 4:])
