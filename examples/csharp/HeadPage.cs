// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using Heed;

/// <summary>A page with each head's attention weights. The JSON is described in examples/head_view/README.md.</summary>
internal static class HeadPage
{
    private const string Place = "@HEED_HEADS@";

    /// <summary>Writes a page.</summary>
    /// <param name="template">The file examples/head_view/head_view.html.</param>
    /// <param name="page">The file to write.</param>
    /// <param name="layer">What is below the title.</param>
    /// <param name="queries">The names of the rows; null: numbers.</param>
    /// <param name="keys">The names of the columns; null: as the queries.</param>
    /// <param name="weights">(H, Q, K).</param>
    internal static void Write(
        string template,
        string page,
        string layer,
        IEnumerable<string>? queries,
        IEnumerable<string>? keys,
        NDArray weights)
    {
        string text = File.ReadAllText(template);
        if (!text.Contains(Place))
        {
            throw new IOException($"no place for the data, {Place}, in {template}");
        }
        string json = $"{{\"title\": \"Attention weights\", \"layer\": {Quoted(layer)}"
            + (queries != null ? $",\n\"queries\": {ListOf(queries.Select(Quoted))}" : "")
            + (keys != null ? $",\n\"keys\": {ListOf(keys.Select(Quoted))}" : "")
            + $",\n\"heads\": {HeadsOf(weights)}}}";
        File.WriteAllText(page, text.Replace(Place, json));
    }

    /// <summary>The weights (H, Q, K) as JSON.</summary>
    private static string HeadsOf(NDArray weights)
    {
        List<string> heads = new List<string>();
        for (int head = 0; head < weights.GetSize(0); head++)
        {
            List<string> rows = new List<string>();
            for (int query = 0; query < weights.GetSize(1); query++)
            {
                rows.Add(ListOf(weights[head, query].ToFloatArray().Select(NumberOf)));
            }
            heads.Add($"\n{{\"name\": \"head {head}\", \"weights\": [\n{string.Join(",\n", rows)}]}}");
        }
        return ListOf(heads);
    }

    /// <summary>A number that reads back as the same float. It has a decimal point in every country; JSON has no
    /// NaN.</summary>
    private static string NumberOf(float number) =>
        float.IsFinite(number) ? number.ToString(CultureInfo.InvariantCulture) : "null";

    private static string ListOf(IEnumerable<string> elements) => $"[{string.Join(", ", elements)}]";

    /// <summary>A JSON string. Written like this, no text can end the script element that the JSON is in.</summary>
    private static string Quoted(string text) =>
        $"\"{string.Concat(text.Select(c => c < ' ' || "\"\\<".Contains(c) ? $"\\u{(int)c:x4}" : $"{c}"))}\"";
}
