// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Text.Json;
using TorchSharp;
using static TorchSharp.torch;

namespace MakeModel;

/// <summary>Writes a .safetensors file: the length of a header in JSON, the header, the elements of all
/// tensors.</summary>
internal static class SafetensorsWriter
{
    internal static void Write(string path, IEnumerable<(string Name, Tensor Tensor)> tensors)
    {
        var header = new SortedDictionary<string, object>(StringComparer.Ordinal)
        {
            ["__metadata__"] = new Dictionary<string, string> { ["format"] = "pt" },
        };
        using var elements = new MemoryStream();
        foreach (var (name, tensor) in tensors.OrderBy(entry => entry.Name, StringComparer.Ordinal))
        {
            bool isFloat = tensor.is_floating_point();
            Tensor dense = tensor.detach().to(isFloat ? ScalarType.Float32 : ScalarType.Int64).contiguous();
            long begin = elements.Length;
            elements.Write(dense.bytes.ToArray());
            header[name] = new Dictionary<string, object>
            {
                ["dtype"] = isFloat ? "F32" : "I64",
                ["shape"] = dense.shape,
                ["data_offsets"] = new[] { begin, elements.Length },
            };
        }
        string text = JsonSerializer.Serialize(header);
        byte[] bytes = Encoding.UTF8.GetBytes(text.PadRight((text.Length + 7) / 8 * 8));
        using var file = new BinaryWriter(File.Create(path));
        file.Write((long)bytes.Length);
        file.Write(bytes);
        file.Write(elements.ToArray());
    }
}
