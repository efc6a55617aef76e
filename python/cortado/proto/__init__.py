"""Caffe's messages: caffe_pb2, made from core/formats/caffe.proto."""
from . import caffe_pb2
