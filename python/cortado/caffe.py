"""Caffe's name for this package, so that programs written for pycaffe run as they are.

    import cortado.caffe
    cortado.caffe.install()
    import caffe
    from caffe import layers as L, params as P
    from caffe.proto import caffe_pb2
"""

import importlib
import sys

MODULES = ('classifier', 'coord_map', 'detector', 'draw', 'io', 'net_spec', 'proto', 'proto.caffe_pb2')


def install():
    """Makes `import caffe` give this package, and `import caffe.io` and the others of MODULES its modules.

    caffe.pycaffe and caffe._caffe are the package too. It goes before a Caffe that is installed besides. Throws
    ImportError if that one is imported already.
    """
    package = sys.modules[__package__]
    other = sys.modules.get('caffe')
    if other is package:
        return
    if other is not None:
        raise ImportError(f'another caffe is imported, of {getattr(other, "__file__", None)}: '
                          'call cortado.caffe.install() before anything imports caffe')
    modules = {'caffe.' + name: importlib.import_module(f'{__package__}.{name}') for name in MODULES}
    package.pycaffe = package._caffe = package  # for `from caffe import pycaffe`
    sys.modules.update(modules, **{'caffe': package, 'caffe.pycaffe': package, 'caffe._caffe': package})
