// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Calls of native objects with managed arguments.</summary>
internal static unsafe class NativeCalls
{
    internal static NativeTensor Parameter(this NativeLayer layer, NativeParameter parameter)
    {
        fixed (byte* name = parameter.NativeName)
        {
            return layer.Parameter(name);
        }
    }

    internal static NativeTensor ParameterShape(this NativeLayer layer, NativeParameter parameter)
    {
        fixed (byte* name = parameter.NativeName)
        {
            return layer.ParameterShape(name);
        }
    }

    internal static void SetParameter(this NativeLayer layer, NativeParameter parameter, NativeTensor value)
    {
        fixed (byte* name = parameter.NativeName)
        {
            layer.SetParameter(name, value);
        }
    }

    internal static Shape ShapeOf(this NativeTensor tensor)
    {
        var dims = new long[tensor.Rank()];
        for (int axis = 0; axis < dims.Length; axis++)
        {
            dims[axis] = tensor.Dim(axis);
        }
        return new Shape(dims);
    }
}
