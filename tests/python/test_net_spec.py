"""Nets written in Python: names, order and parameters of the layers."""

import copy
import unittest

from cortado.net_spec import Function, NetSpec, Top, assign_proto, layers as L, param_name_dict, params as P, to_proto
from cortado.proto import caffe_pb2


def two_branches():
    n = NetSpec()
    n.data, n.label = L.DummyData(ntop=2, shape=[dict(dim=[4, 3, 8, 8]), dict(dim=4)])
    n.wide = L.Convolution(n.data, num_output=5, kernel_size=[3, 1], weight_filler=dict(type='gaussian', std=0.5))
    n.relu = L.ReLU(n.wide, in_place=True)
    n.sum = L.Eltwise(n.relu, L.Power(n.wide, scale=2), operation=P.Eltwise.SUM)
    n.loss = L.SoftmaxWithLoss(n.sum, n.label, loss_weight=0.25)
    n.rest = L.Silence(n.data, ntop=0)
    return n


class NetSpecTest(unittest.TestCase):
    def test_layers_stand_behind_those_they_read(self):
        net = two_branches().to_proto()
        self.assertEqual([layer.name for layer in net.layer],
                         ['data', 'wide', 'relu', 'Power1', 'sum', 'loss', 'rest'])
        self.assertEqual([list(layer.bottom) for layer in net.layer],
                         [[], ['data'], ['wide'], ['wide'], ['wide', 'Power1'], ['sum', 'label'], ['data']])
        self.assertEqual([list(layer.top) for layer in net.layer],
                         [['data', 'label'], ['wide'], ['wide'], ['Power1'], ['sum'], ['loss'], []])

    def test_parameters_go_into_the_layers_own_message(self):
        dummy, wide, relu, power, both, loss, _ = two_branches().to_proto().layer
        self.assertEqual([list(shape.dim) for shape in dummy.dummy_data_param.shape], [[4, 3, 8, 8], [4]])
        self.assertEqual(list(wide.convolution_param.kernel_size), [3, 1])
        self.assertEqual((wide.convolution_param.weight_filler.type, wide.convolution_param.weight_filler.std),
                         ('gaussian', 0.5))
        self.assertEqual(power.power_param.scale, 2)
        self.assertEqual(both.eltwise_param.operation, caffe_pb2.EltwiseParameter.SUM)
        self.assertEqual(list(loss.loss_weight), [0.25])
        self.assertFalse(relu.HasField('relu_param'))

    def test_whole_messages_and_the_layers_fields(self):
        x = L.Input(shape=dict(dim=[1, 2]))
        deconvolution = L.Deconvolution(x, name='up', convolution_param=dict(num_output=2, stride=[2, 2]),
                                        param=[dict(lr_mult=0)], include=dict(phase=caffe_pb2.TEST))
        layer = to_proto(deconvolution).layer[1]
        self.assertEqual((layer.name, list(layer.top)), ('up', ['Deconvolution1']))
        self.assertEqual(list(layer.convolution_param.stride), [2, 2])
        self.assertEqual([param.lr_mult for param in layer.param], [0])
        self.assertEqual(layer.include[0].phase, caffe_pb2.TEST)
        python = to_proto(L.Python(x, module='m', layer='Mine', param_str='{}')).layer[1]
        self.assertEqual((python.python_param.layer, python.python_param.param_str), ('Mine', '{}'))

    def test_names_are_counted_by_type(self):
        x = L.Input(shape=dict(dim=1))
        net = to_proto(L.ReLU(L.ReLU(x)), L.Sigmoid(x))
        self.assertEqual([layer.name for layer in net.layer], ['Input1', 'ReLU1', 'ReLU2', 'Sigmoid1'])
        self.assertEqual(L.ReLU(x).to_proto().layer[1].name, 'ReLU1')

    def test_items_are_attributes(self):
        n = NetSpec()
        n['a/b'] = L.Input(shape=dict(dim=1))
        self.assertIs(n['a/b'], getattr(n, 'a/b'))
        self.assertIs(copy.copy(n)['a/b'], n['a/b'])
        self.assertEqual(n.to_proto().layer[0].name, 'a/b')
        self.assertFalse(hasattr(n, 'absent'))
        with self.assertRaises(KeyError):
            n['absent']

    def test_results_by_number_of_tops(self):
        self.assertIsInstance(L.Input(), Top)
        self.assertEqual([top.n for top in L.Slice(L.Input(), ntop=3)], [0, 1, 2])
        self.assertIsInstance(L.Silence(L.Input(), ntop=0), Function)

    def test_nets_are_deeper_than_the_stack(self):
        x = L.Input(shape=dict(dim=1))
        for _ in range(3000):
            x = L.ReLU(x)
        self.assertEqual(x.to_proto().layer[3000].name, 'ReLU3000')

    def test_mistakes_are_named(self):
        x = L.Input(shape=dict(dim=1))
        with self.assertRaisesRegex(TypeError, r"^Silence input 1 is not a Top \(type is <class 'tuple'>\)$"):
            L.Silence(x, (x, x), ntop=0)
        with self.assertRaisesRegex(AttributeError, 'type Convolution has no parameter "kernal_size"'):
            to_proto(L.Convolution(x, kernal_size=3))
        with self.assertRaisesRegex(AttributeError, 'FillerParameter has no field "kind"'):
            to_proto(L.Convolution(x, weight_filler=dict(kind='xavier')))
        with self.assertRaisesRegex(TypeError, 'data is not a Top'):
            NetSpec().data = L.Data(ntop=2)
        with self.assertRaises(AttributeError):
            P.Pooling.MOST
        with self.assertRaises(AttributeError):
            P.NoSuchLayer


class AssignProtoTest(unittest.TestCase):
    def test_values_of_all_kinds(self):
        net = caffe_pb2.NetParameter()
        assign_proto(net, 'name', 'n')
        assign_proto(net, 'input', 'one')
        assign_proto(net, 'input', ['two', 'three'])
        assign_proto(net, 'input_shape', ({'dim': [1, 2]}, {'dim': 3}))
        assign_proto(net, 'input_dim', [])
        assign_proto(net, 'state', dict(phase=1, stage='s'))
        self.assertEqual(list(net.input), ['one', 'two', 'three'])
        self.assertEqual([list(shape.dim) for shape in net.input_shape], [[1, 2], [3]])
        self.assertEqual((net.name, net.state.phase, list(net.state.stage)), ('n', 1, ['s']))
        with self.assertRaisesRegex(AttributeError, 'NetParameter has no field "nam"'):
            assign_proto(net, 'nam', 'n')


class ParamNamesTest(unittest.TestCase):
    def test_names_are_those_of_the_fields(self):
        names = param_name_dict()
        for layer_type, name in (('Convolution', 'convolution'), ('InnerProduct', 'inner_product'), ('LRN', 'lrn'),
                                 ('HDF5Data', 'hdf5_data'), ('Normalize', 'norm'), ('Transformation', 'transform')):
            self.assertEqual(names[layer_type], name)


if __name__ == '__main__':
    unittest.main()
