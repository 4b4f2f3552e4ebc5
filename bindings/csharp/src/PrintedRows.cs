// SPDX-License-Identifier: Apache-2.0
using System.Text;

namespace Heed;

/// <summary>The brackets and lines of a printed array, in NumPy's layout: long rows are split into lines.</summary>
internal sealed class PrintedRows
{
    private const int Width = 75;
    private const string LeftOut = "...";

    private readonly Shape shape;
    private readonly Shape shown;
    private readonly string[] elements;
    private readonly StringBuilder text = new StringBuilder();
    private int next;

    private PrintedRows(Shape shape, Shape shown, string[] elements)
    {
        this.shape = shape;
        this.shown = shown;
        this.elements = elements;
    }

    /// <summary>Prints an array.</summary>
    /// <param name="shape">The array's shape, of which no size is 0.</param>
    /// <param name="shown">How many elements of each axis are printed. If they are fewer than the axis has, half of
    /// them are from each of its ends.</param>
    /// <param name="elements">The texts of the printed elements, in row-major order.</param>
    internal static string TextOf(Shape shape, Shape shown, string[] elements)
    {
        var rows = new PrintedRows(shape, shown, elements);
        rows.Append(0);
        return rows.text.ToString();
    }

    private void Append(int axis)
    {
        if (axis == shown.Dimension)
        {
            text.Append(elements[next++]);
            return;
        }
        text.Append('[');
        if (axis == shown.Dimension - 1)
        {
            AppendRow(axis);
        }
        else
        {
            AppendParts(axis);
        }
        text.Append(']');
    }

    private void AppendParts(int axis)
    {
        string lineEnd = new string('\n', shown.Dimension - 1 - axis) + new string(' ', axis + 1);
        for (long i = 0; i < shown[axis]; i++)
        {
            text.Append(i == 0 ? string.Empty : lineEnd);
            if (IsLeftOutBefore(axis, i))
            {
                text.Append(LeftOut).Append(lineEnd);
            }
            Append(axis + 1);
        }
    }

    private void AppendRow(int axis)
    {
        // Leaves columns for the closing bracket of each axis.
        int width = Width - axis - 1;
        int indent = axis + 1;
        int column = indent;
        for (long i = 0; i < shown[axis]; i++)
        {
            if (IsLeftOutBefore(axis, i))
            {
                column = AppendWord(LeftOut, column, indent, width);
            }
            column = AppendWord(elements[next++], column, indent, width);
        }
    }

    /// <summary>Appends a word to the line, or to a new line if it does not fit. Returns the column after it.</summary>
    private int AppendWord(string word, int column, int indent, int width)
    {
        // A space precedes all words but the first.
        int start = column == indent ? column : column + 1;
        if (start + word.Length > width && column > indent)
        {
            RemoveLastSpaces();
            text.Append('\n').Append(' ', indent);
            start = indent;
        }
        else if (start > column)
        {
            text.Append(' ');
        }
        text.Append(word);
        return start + word.Length;
    }

    private void RemoveLastSpaces()
    {
        while (text[text.Length - 1] == ' ')
        {
            text.Length--;
        }
    }

    private bool IsLeftOutBefore(int axis, long i) => shown[axis] < shape[axis] && i == shown[axis] / 2;
}
