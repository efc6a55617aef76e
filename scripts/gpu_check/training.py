"""Steps that train: bits equal between runs and after a snapshot, several ranks, and the two real data sets."""
import hashlib
import os
import re
import shutil
import tarfile

from .session import Failed, NotRun

SOLVER = '''net: "%(net)s"
train_state { stage: "digits" } test_state { stage: "digits" }
test_iter: 4 test_interval: %(test)d test_initialization: false
base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 lr_policy: "inv" gamma: 0.0001 power: 0.75
display: 10 max_iter: %(most)d snapshot: %(snapshot)d snapshot_prefix: "%(prefix)s" random_seed: 7
'''
ITERATIONS = 200


def digits(session):
    """Makes the generated digits once, in a folder that has the nets."""
    folder = os.path.join(session.work, 'digits')
    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.symlink(os.path.join(session.root, 'models'), os.path.join(folder, 'models'))
        done = session.run([session.root + '/bin/cortado', 'convert', 'digits', 'data/digits', '--train', '2000', '--test', '400'], 40, folder=folder)
        if done.code != 0:
            raise Failed('convert digits: ' + done.last_words())
    return folder


def train(session, name, most, snapshot, ranks=1, more=()):
    """Trains LeNet; returns the hash of its weights, the lines of its losses, and the output."""
    folder = digits(session)
    solver = os.path.join(folder, name + '.prototxt')
    with open(solver, 'w') as file:
        file.write(SOLVER % {'net': 'models/lenet/train_val.prototxt', 'test': most, 'most': most, 'snapshot': snapshot, 'prefix': name})
    launcher = [session.root + '/bin/mpirun', '-n', str(ranks)] if ranks > 1 else []
    done = session.run([*launcher, session.root + '/bin/cortado', 'train', '-solver', solver, *more], 60, folder=folder)
    if done.code != 0 or 'Optimization Done.' not in done.text:
        raise Failed('train %s: exit %s: %s' % (name, done.code, done.last_words()))
    weights = os.path.join(folder, '%s_iter_%d.caffemodel' % (name, most))
    with open(weights, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest(), losses(done.text), done


def losses(text):
    """{iteration: loss as printed}."""
    return {int(i): loss for i, loss in re.findall(r'Iteration (\d+).*?, loss = (\S+)', text)}


def lenet_twice(session):
    first, lines, _ = train(session, 'first', ITERATIONS, ITERATIONS)
    again, lines_again, _ = train(session, 'again', ITERATIONS, ITERATIONS)
    if first != again or lines != lines_again:
        apart = [i for i in lines if lines[i] != lines_again.get(i)]
        raise Failed('two runs differ: losses first at iteration %s of the shown, weights %s' %
                     (apart[0] if apart else 'none', 'differ' if first != again else 'agree'))
    return {'says': 'weights and %d losses agree bit by bit, last loss %s' % (len(lines), list(lines.values())[-1]), 'weights': first}


def lenet_resumed(session):
    whole, _, _ = train(session, 'whole', ITERATIONS, ITERATIONS // 2)
    state = os.path.join(digits(session), 'whole_iter_%d.solverstate' % (ITERATIONS // 2))
    resumed, _, _ = train(session, 'resumed', ITERATIONS, ITERATIONS, more=['-snapshot', state])
    if whole != resumed:
        raise Failed('the weights after going on from a snapshot are others')
    return {'says': 'weights agree bit by bit'}


def two_ranks(session):
    """Two ranks on one device, whose replicas must end with the same weights in every run."""
    first, lines, _ = train(session, 'ranks', 50, 50, ranks=2)
    again, _, _ = train(session, 'ranks_again', 50, 50, ranks=2)
    if first != again:
        raise Failed('two runs of two ranks differ')
    return {'says': 'last loss ' + list(lines.values())[-1]}


class RealData:
    """MNIST from HDF5 and CIFAR-10 from LMDB, made from the folder or archive of CORTADO_DATA."""

    def __init__(self, source, other_preset):
        self.source, self.other = source, other_preset

    def folder(self, session):
        """The folder with data/ and models/, made by whichever step comes first."""
        folder = os.path.join(session.work, 'real')
        if not os.path.isdir(folder):
            os.makedirs(folder)
            os.symlink(os.path.join(session.root, 'models'), os.path.join(folder, 'models'))
            self.convert(session, folder, *self.unpack(session, folder))
        if not os.path.exists(os.path.join(folder, 'data/cifar_mean.binaryproto')):
            raise NotRun('the data sets could not be made')
        return folder

    def unpack(self, session, folder):
        """Returns the folders of MNIST's files and of CIFAR-10's images."""
        source = self.source
        if not source or not os.path.exists(source):
            raise NotRun('--data names no folder or archive with mnist/ and cifar10/')
        if os.path.isfile(source):
            source = self.extract(session, source, os.path.join(folder, 'source'))
        places = {name: os.path.join(place, name) for place, names, _ in os.walk(source) for name in names}
        if 'mnist' not in places or 'cifar10' not in places:
            raise NotRun('%s does not hold mnist/ and cifar10/' % self.source)
        images = self.extract(session, os.path.join(places['cifar10'], 'cifar10-jpeg.tar.gz'), os.path.join(folder, 'images'))
        return places['mnist'], images

    @staticmethod
    def extract(session, archive, folder):
        os.makedirs(folder)
        if shutil.which('tar'):  # Python needs many times as long for many small files
            done = session.run(['tar', '-xf', os.path.abspath(archive), '-C', folder], 60, clean=True)
            if done.code == 0:
                return folder
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        return folder

    @staticmethod
    def convert(session, folder, mnist, images):
        """MNIST to HDF5; CIFAR-10's images, whose folders are the classes, to LMDB, and their mean."""
        cortado = session.root + '/bin/cortado'
        commands = [['mnist', mnist, 'data/mnist']]
        for part in 'train', 'test':
            commands.append(['set', os.path.join(images, part), 'data/cifar_%s_lmdb' % part, '--as', 'lmdb', '--shuffle'])
        commands.append(['mean', 'data/cifar_train_lmdb', 'data/cifar_mean.binaryproto'])
        for command in commands:
            done = session.run([cortado, 'convert', *command], 60, folder=folder)
            if done.code != 0:
                raise Failed('convert %s: %s' % (command[0], done.last_words()))

    def made(self, session):
        """A step: the data sets are there."""
        sizes = {}
        for name in 'mnist', 'cifar_train_lmdb', 'cifar_test_lmdb':
            place = os.path.join(self.folder(session), 'data', name)
            sizes[name] = sum(os.path.getsize(os.path.join(place, file)) for file in os.listdir(place)) / 1e6
        return {'megabytes': sizes, 'says': ', '.join('%s %.0f MB' % pair for pair in sizes.items())}

    def write(self, session, name, text):
        path = os.path.join(self.folder(session), name)
        with open(path, 'w') as file:
            file.write(text)
        return path

    def solver(self, session, of, **changed):
        """The published solver of models/OF with other values."""
        with open(os.path.join(session.root, 'models', of, 'solver.prototxt')) as file:
            text = file.read()
        for key, value in dict(changed, snapshot_prefix='"%s"' % of).items():
            text, found = re.subn(r'(?m)^%s: .*' % key, '%s: %s' % (key, value), text)
            if not found:
                text += '%s: %s\n' % (key, value)
        return text

    def cifar_net(self, session):
        """cifar10_quick, fed by LMDB with the mean image subtracted."""
        with open(os.path.join(session.root, 'models/cifar10_quick/train_val.prototxt')) as file:
            text = file.read()
        for part in 'train', 'test':
            text = re.sub(r'"HDF5Data"( top: "data" top: "label"\s*)hdf5_data_param \{ source: "data/cifar10/%s.txt" batch_size: 100 \}' % part,
                          r'"Data"\1data_param { source: "data/cifar_%s_lmdb" backend: LMDB batch_size: 100 } '
                          r'transform_param { mean_file: "data/cifar_mean.binaryproto" }' % part, text)
        return self.write(session, 'cifar_net.prototxt', text)

    def accuracy(self, net, least, limit, **changed):
        """A step: trains the net to at least this accuracy."""
        def step(session):
            if net == 'cifar10_quick':
                changed['net'] = '"%s"' % self.cifar_net(session)
            solver = self.write(session, net + '.solver', self.solver(session, net, **changed))
            done = session.run([session.root + '/bin/cortado', 'train', '-solver', solver], limit, folder=self.folder(session))
            reached = [float(a) for a in re.findall(r'accuracy = ([\d.]+)', done.text)]
            if done.code != 0 or not reached:
                raise Failed('exit %s: %s' % (done.code, done.last_words()))
            facts = {'accuracy': reached[-1], 'says': '%.2f %% in %.0f s' % (100 * reached[-1], done.seconds)}
            if reached[-1] < least and not session.rehearse:
                raise Failed('%s, wanted at least %.1f %%' % (facts['says'], 100 * least))
            return facts
        return step

    def first_losses(self, net, count=10):
        """A step: the first iterations' losses are the CPU's within rounding."""
        def step(session):
            if self.other not in session.presets():
                raise NotRun('the bundle holds no preset %s' % self.other)
            changed = {'max_iter': count, 'display': 1, 'test_interval': 1000000, 'test_initialization': 'false', 'random_seed': 5,
                       'snapshot_after_train': 'false'}
            if net == 'cifar10_quick':
                changed['net'] = '"%s"' % self.cifar_net(session)
            solver = self.write(session, net + '.first', self.solver(session, net, **changed))
            found = []
            for preset in session.preset, self.other:
                done = session.run([session.root + '/bin/cortado', 'train', '-solver', solver, '--multiply', 'fp32'], 40, preset,
                                   folder=self.folder(session))
                if done.code != 0:
                    raise Failed('%s: exit %s: %s' % (preset, done.code, done.last_words()))
                found.append(losses(done.text))
            apart = [abs(float(a) - float(found[1][i])) / max(1e-3, abs(float(a))) for i, a in found[0].items() if i in found[1]]
            if len(apart) < count:
                raise Failed('only %d losses to compare' % len(apart))
            facts = {'losses': found[0], 'losses_of_cpu': found[1], 'apart': max(apart), 'says': 'at most %.1e apart' % max(apart)}
            if max(apart) > 1e-3:  # rounding that ten iterations have spread
                raise Failed(facts['says'])
            return facts
        return step

    def steps(self, rehearse):
        short = {'max_iter': 20, 'test_interval': 20, 'test_iter': 2} if rehearse else {}
        mnist = dict({'max_iter': 10000, 'test_interval': 2000}, **short)
        return [('data.made', self.made),
                ('data.losses.lenet', self.first_losses('lenet')), ('data.losses.cifar10_quick', self.first_losses('cifar10_quick')),
                ('data.mnist', self.accuracy('lenet', 0.990, 70, **mnist)),
                ('data.cifar10_quick', self.accuracy('cifar10_quick', 0.72, 90, **short))]
