"""Images, arrays and Caffe's messages: reading, conversion, and what a net's input needs.

Images are arrays of height x width x channels, as float32 in [0, 1]; colours are in the order red, green, blue.
"""

import numpy as np

from .proto import caffe_pb2

GREY_OF_RGB = (0.2125, 0.7154, 0.0721)  # scikit-image's, close to luminance by ITU-R BT.709


# Messages

def blobproto_to_array(blob, return_diff=False):
    """The values of a BlobProto, or its gradients, as an array of the blob's shape.

    The shape is that of old files, num x channels x height x width, if the message has one of these. Throws ValueError
    if shape and values do not fit.
    """
    if return_diff:
        values = np.array(blob.diff if blob.diff else blob.double_diff)
    else:
        values = np.array(blob.data if blob.data else blob.double_data)
    if any(blob.HasField(field) for field in ('num', 'channels', 'height', 'width')):
        return values.reshape(blob.num, blob.channels, blob.height, blob.width)
    return values.reshape(tuple(blob.shape.dim))


def array_to_blobproto(arr, diff=None):
    """The BlobProto of an array of any rank; `diff` is the array of gradients, of the same shape."""
    blob = caffe_pb2.BlobProto()
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(arr.astype(float).ravel().tolist())
    if diff is not None:
        blob.diff.extend(diff.astype(float).ravel().tolist())
    return blob


def arraylist_to_blobprotovector_str(arraylist):
    """The bytes of a BlobProtoVector of the arrays."""
    return caffe_pb2.BlobProtoVector(blobs=[array_to_blobproto(arr) for arr in arraylist]).SerializeToString()


def blobprotovector_str_to_arraylist(str):
    """The arrays of a BlobProtoVector, which is given by its bytes."""
    return [blobproto_to_array(blob) for blob in caffe_pb2.BlobProtoVector.FromString(str).blobs]


def array_to_datum(arr, label=None):
    """The Datum of an array of channels x height x width: as bytes if its type is uint8, as floats otherwise."""
    if arr.ndim != 3:
        raise ValueError(f'Incorrect array shape: a datum is channels x height x width, not {arr.shape}')
    datum = caffe_pb2.Datum()
    datum.channels, datum.height, datum.width = arr.shape
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(arr.astype(float).ravel().tolist())
    if label is not None:
        datum.label = label
    return datum


def datum_to_array(datum):
    """The values of a Datum, channels x height x width: uint8 if it has bytes, float64 if it has floats."""
    if datum.encoded:
        raise ValueError('the datum is a compressed image; its file is datum.data')
    if datum.data:
        values = np.frombuffer(datum.data, dtype=np.uint8).copy()  # bytes themselves cannot be written to
    else:
        values = np.array(datum.float_data, dtype=float)
    return values.reshape(datum.channels, datum.height, datum.width)


# A net's input

class Transformer:
    """Makes of an image what a net's input wants, and back.

    `inputs` maps each input's name to its shape, batch x channels x height x width. The steps are, in this order and
    each only if it is set: sizes, transpose, channel_swap, raw_scale, mean, input_scale.
    """

    def __init__(self, inputs):
        self.inputs = inputs
        self.transpose = {}
        self.channel_swap = {}
        self.raw_scale = {}
        self.mean = {}
        self.input_scale = {}

    def _check_input(self, in_):
        if in_ not in self.inputs:
            raise Exception(f'{in_} is not one of the net inputs: {self.inputs}')

    def preprocess(self, in_, data):
        """The image `data` as the input `in_` wants it: a new array of float32, of the input's height and width."""
        self._check_input(in_)
        out = data.astype(np.float32)
        size = tuple(self.inputs[in_][2:])
        if out.shape[:2] != size:
            out = resize_image(out, size)
        if in_ in self.transpose:
            out = out.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            out = out[self.channel_swap[in_], :, :]
        if self.raw_scale.get(in_) is not None:
            out *= self.raw_scale[in_]
        if in_ in self.mean:
            out -= self.mean[in_]
        if self.input_scale.get(in_) is not None:
            out *= self.input_scale[in_]
        return out

    def deprocess(self, in_, data):
        """The image of which preprocess made `data`, but for its size; `data` may have a batch axis of 1."""
        self._check_input(in_)
        out = data.copy().squeeze()
        rank = len(self.inputs[in_]) - 1
        reorders = in_ in self.transpose or in_ in self.channel_swap
        if reorders and out.ndim < rank <= data.ndim:  # the image has an axis of 1 of its own
            out = out.reshape(data.shape[-rank:])
        if self.input_scale.get(in_) is not None:
            out /= self.input_scale[in_]
        if in_ in self.mean:
            out += self.mean[in_]
        if self.raw_scale.get(in_) is not None:
            out /= self.raw_scale[in_]
        if in_ in self.channel_swap:
            out = out[np.argsort(self.channel_swap[in_]), :, :]
        if in_ in self.transpose:
            out = out.transpose(np.argsort(self.transpose[in_]))
        return out

    def set_transpose(self, in_, order):
        """The order of the image's axes in the input: (2, 0, 1) makes channels the first."""
        self._check_input(in_)
        if len(order) != len(self.inputs[in_]) - 1:
            raise Exception('Transpose order needs to have the same number of dimensions as the input.')
        self.transpose[in_] = order

    def set_channel_swap(self, in_, order):
        """The order of channels, which are the first axis: (2, 1, 0) makes blue, green, red of RGB."""
        self._check_input(in_)
        if len(order) != self.inputs[in_][1]:
            raise Exception('Channel swap needs to have the same number of dimensions as the input channels.')
        self.channel_swap[in_] = order

    def set_raw_scale(self, in_, scale):
        """A factor before the mean is subtracted: 255 for nets that were trained on bytes."""
        self._check_input(in_)
        self.raw_scale[in_] = scale

    def set_mean(self, in_, mean):
        """The mean to subtract: a value a channel, or an image, channels x height x width, made to the input's size."""
        self._check_input(in_)
        channels, size = self.inputs[in_][1], tuple(self.inputs[in_][2:])
        if mean.ndim == 1:
            if len(mean) != channels:
                raise ValueError(f'Mean channels incompatible with input: {len(mean)} instead of {channels}.')
            mean = mean[:, np.newaxis, np.newaxis]
        else:
            if mean.ndim == 2:
                mean = mean[np.newaxis]
            if mean.ndim != 3 or mean.shape[0] not in (1, channels):
                raise ValueError(f'Mean shape invalid: {mean.shape} for an input of {self.inputs[in_]}.')
            if mean.shape[1:] != size:
                mean = resize_image(mean.transpose(1, 2, 0), size).transpose(2, 0, 1)
        self.mean[in_] = mean

    def set_input_scale(self, in_, scale):
        """A factor after the mean is subtracted."""
        self._check_input(in_)
        self.input_scale[in_] = scale


def transformer_of(net, mean, input_scale, raw_scale, channel_swap):
    """The Transformer of images for the first input of `net`; what is None is not set."""
    name = net.inputs[0]
    transformer = Transformer({name: net.blobs[name].data.shape})
    transformer.set_transpose(name, (2, 0, 1))
    for setter, value in ((transformer.set_mean, mean), (transformer.set_input_scale, input_scale),
                          (transformer.set_raw_scale, raw_scale), (transformer.set_channel_swap, channel_swap)):
        if value is not None:
            setter(name, value)
    return transformer


# Images

def load_image(filename, color=True):
    """The image in a file as float32 in [0, 1]: height x width x 3 with `color`, x 1 without.

    Pillow reads it; OpenCV does if there is no Pillow. Opacity is dropped.
    """
    pixels = _read_pixels(filename)
    if np.issubdtype(pixels.dtype, np.integer):
        pixels = pixels / float(np.iinfo(pixels.dtype).max)
    pixels = pixels.astype(np.float32)
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    pixels = pixels[:, :, :1] if pixels.shape[2] < 3 else pixels[:, :, :3]
    if color:
        return np.tile(pixels, (1, 1, 3)) if pixels.shape[2] == 1 else pixels
    if pixels.shape[2] == 3:
        pixels = (pixels @ np.array(GREY_OF_RGB)).astype(np.float32)[:, :, np.newaxis]
    return pixels


def _read_pixels(filename):
    """Pixels of a file: height x width, or with an axis of channels, RGB first; uint8, uint16 or float32."""
    try:
        import PIL.Image
    except ImportError:
        return _read_by_opencv(filename)
    with PIL.Image.open(filename) as image:
        if image.mode.startswith('I'):  # 16 bits, which Pillow may widen
            return np.array(image).astype(np.uint16)
        if image.mode not in ('L', 'LA', 'RGB', 'RGBA', 'F'):
            image = image.convert('L' if image.mode == '1' else 'RGB')
        return np.array(image)


def _read_by_opencv(filename):
    try:
        import cv2
    except ImportError:
        raise ImportError('load_image needs Pillow (Debian: python3-pil) or OpenCV (python3-opencv)') from None
    pixels = cv2.imread(str(filename), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise OSError(f'{filename} is absent, or no image that OpenCV reads')
    return pixels if pixels.ndim == 2 else pixels[:, :, [2, 1, 0]]


def resize_image(im, new_dims, interp_order=1):
    """The image `im` in the size `new_dims`, height and width, as float32, by linear interpolation.

    An `interp_order` of 0 takes the nearest pixel instead. With 1 or 3 channels the corners of the images coincide, as
    in scikit-image's resize; pixels outside have the least value of the image. No filter is applied before shrinking:
    scikit-image has one from version 0.15 on, but not those with which Caffe's results were made. With other numbers of
    channels the centres of the outer pixels coincide, as in scipy.ndimage.zoom.
    """
    if im.ndim != 3:
        raise ValueError(f'an image is height x width x channels, not {im.shape}')
    if interp_order not in (0, 1):
        raise ValueError(f'interp_order is 0 (nearest pixel) or 1 (linear), not {interp_order}')
    corners = im.shape[2] in (1, 3)
    out = np.asarray(im, dtype=np.float64)
    outside = out.min()
    for axis, size in enumerate(new_dims):
        out = np.moveaxis(_resize_axis(np.moveaxis(out, axis, 0), int(size), corners, outside, interp_order), 0, axis)
    return np.ascontiguousarray(out, dtype=np.float32)


def _resize_axis(values, size, corners, outside, order):
    """`values` with `size` elements along the first axis, which lie between -0.5 and the old size - 0.5."""
    old = len(values)
    if corners:
        places = (np.arange(size) + 0.5) * (old / size) - 0.5
    else:
        places = np.arange(size) * ((old - 1) / max(size - 1, 1))
    if order == 0:
        return values[np.clip(np.floor(places + 0.5).astype(int), 0, old - 1)]
    before = np.floor(places).astype(int)
    part = (places - before).reshape((-1,) + (1,) * (values.ndim - 1))
    edge = np.full((1,) + values.shape[1:], outside)
    padded = np.concatenate([edge, values, edge])
    return padded[before + 1] * (1 - part) + padded[before + 2] * part


def oversample(images, crop_dims):
    """Ten pieces of each image, of height and width `crop_dims`: corners and centre, then the same five mirrored.

    Corners are in the order upper left, upper right, lower left, lower right. All images have the size of the first.
    The result is float32, of 10 x (number of images) pieces.
    """
    images = list(images)
    height, width, channels = images[0].shape
    h, w = (int(size) for size in crop_dims)
    places = [(y, x) for y in (0, height - h) for x in (0, width - w)] + [((height - h) // 2, (width - w) // 2)]
    crops = np.empty((len(images), 2, len(places), h, w, channels), dtype=np.float32)
    for image, of_image in zip(images, crops):
        for place, (y, x) in enumerate(places):
            of_image[0, place] = image[y:y + h, x:x + w]
        of_image[1] = of_image[0][:, :, ::-1]
    return crops.reshape(-1, h, w, channels)
