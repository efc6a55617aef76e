"""Pictures of nets: the text for Graphviz, and what Graphviz makes of it."""

import os
import shutil
import tempfile
import unittest
from unittest import mock

from google.protobuf import text_format

from cortado import draw
from cortado.proto import caffe_pb2

NET = r"""
name: 'a "net"'
layer { name: 'in' type: 'Data' top: 'data' top: 'label' data_param { batch_size: 16 } include { phase: TRAIN } }
layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' param { lr_mult: 2 }
        convolution_param { num_output: 7 kernel_size: 3 kernel_size: 5 stride: 2 } }
layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool' pooling_param { pool: AVE kernel_h: 2 kernel_w: 4 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'pool' top: 'ip' inner_product_param { num_output: 10 }
        param { lr_mult: 0 } param { lr_mult: 0 } exclude { phase: TRAIN } }
layer { name: 'hits' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'hits' include { stage: 'any' } }
"""


def net():
    return text_format.Parse(NET, caffe_pb2.NetParameter())


def lines(**words):
    return draw.get_pydot_graph(net(), 'TB', **words).to_string().splitlines()


class GraphTest(unittest.TestCase):
    def test_boxes_ellipses_and_arrows(self):
        text = lines()
        self.assertEqual(text[0], r'digraph "a \"net\"" {')
        self.assertEqual(text[1], '  rankdir=TB;')
        self.assertEqual(sum('shape=box' in line for line in text), 6)
        self.assertEqual(sum('shape=ellipse' in line for line in text), 7)  # conv twice: the ReLU is in place
        arrows = [line.strip() for line in text if '->' in line]
        self.assertEqual(arrows, ['layer0 -> blob0 [label="Batch 16"];', 'layer0 -> blob1 [label="Batch 16"];',
                                  'blob0 -> layer1;', 'layer1 -> blob2 [label="7"];', 'blob2 -> layer2;',
                                  'layer2 -> blob3;', 'blob3 -> layer3;', 'layer3 -> blob4;', 'blob4 -> layer4;',
                                  'layer4 -> blob5 [label="10"];', 'blob5 -> layer5;', 'blob1 -> layer5;',
                                  'layer5 -> blob6;'])
        self.assertFalse(any('->' in line and 'label' in line for line in lines(label_edges=False)))

    def test_phases_choose_layers(self):
        def drawn(phase):
            return [name for name in ('in', 'conv', 'ip', 'hits')
                    if any('shape=box' in line and f'label="{name} (' in line for line in lines(phase=phase))]
        self.assertEqual(drawn(caffe_pb2.TRAIN), ['in', 'conv', 'hits'])
        self.assertEqual(drawn(caffe_pb2.TEST), ['conv', 'ip', 'hits'])
        self.assertEqual(drawn(None), ['in', 'conv', 'ip', 'hits'])
        both = net()
        both.layer[0].exclude.add(phase=caffe_pb2.TEST)
        with self.assertRaisesRegex(ValueError, 'both include and exclude'):
            draw.get_pydot_graph(both, 'LR', phase=caffe_pb2.TEST)

    def test_labels(self):
        _, conv, relu, pool, ip, _ = net().layer
        self.assertEqual(draw.get_layer_label(conv, 'LR'),
                         r'"conv\n(Convolution)\nkernel size: 3x5\nstride: 2\npad: 0"')
        self.assertEqual(draw.get_layer_label(conv, 'BT', display_lrm=True),
                         '"conv (Convolution) kernel size: 3x5 stride: 2 pad: 0 lr mult: 2.0, 1.0"')
        self.assertEqual(draw.get_layer_label(pool, 'TB'), '"pool (Pooling AVE) kernel size: 2x4 stride: 1 pad: 0"')
        self.assertEqual(draw.get_layer_label(ip, 'TB', True), '"ip (InnerProduct)"')  # both are 0: frozen
        self.assertEqual(draw.get_layer_label(relu, 'LR', True), r'"relu\n(ReLU)"')
        relu.name = 'a\\b"c"'
        self.assertEqual(draw.get_layer_label(relu, 'TB'), r'"a\\b\"c\" (ReLU)"')

    def test_rates(self):
        _, conv, relu, _, ip, _ = net().layer
        self.assertEqual(draw.get_layer_lr_mult(conv), (2.0, 1.0))
        self.assertEqual(draw.get_layer_lr_mult(ip), (0.0, 0.0))
        with self.assertRaisesRegex(ValueError, 'ReLU'):
            draw.get_layer_lr_mult(relu)
        ip.param.add()
        with self.assertRaisesRegex(ValueError, 'ip has 3'):
            draw.get_layer_lr_mult(ip)
        self.assertEqual(draw.get_pooling_types_dict()[caffe_pb2.PoolingParameter.AVE], 'AVE')


class PictureTest(unittest.TestCase):
    @unittest.skipIf(shutil.which('dot') is None, 'Graphviz is not installed')
    def test_formats(self):
        self.assertEqual(draw.draw_net(net(), 'LR')[:8], b'\x89PNG\r\n\x1a\n')
        picture = draw.draw_net(net(), 'LR', ext='svg', phase=caffe_pb2.TEST).decode()
        self.assertIn('>ip<', picture)
        self.assertNotIn('>Batch 16<', picture)
        self.assertIn('>a\\b&quot;<', draw.Graph(r'digraph { a [label="a\\b\""] }').create(format='svg').decode())
        with self.assertRaisesRegex(ValueError, 'dot makes no nothing: .*nothing'):
            draw.draw_net(net(), 'LR', ext='nothing')

    def test_files(self):
        text = draw.get_pydot_graph(net(), 'LR').to_string()
        with tempfile.TemporaryDirectory() as folder:
            for name in ('net.dot', 'net.raw', 'net'):
                file = os.path.join(folder, name)
                draw.draw_net_to_file(net(), file)
                with open(file) as written:
                    self.assertEqual(written.read(), text)
            file = os.path.join(folder, 'net.png')
            with mock.patch.dict(os.environ, {'PATH': folder}):
                with self.assertRaisesRegex(FileNotFoundError, 'Graphviz.*not installed'):
                    draw.draw_net_to_file(net(), file)
            self.assertFalse(os.path.exists(file))


if __name__ == '__main__':
    unittest.main()
