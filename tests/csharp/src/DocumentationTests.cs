// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Xml.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Heed.xml, the documentation that editors show.</summary>
public sealed class DocumentationTests
{
    private const BindingFlags Declared = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
        | BindingFlags.Static | BindingFlags.FlattenHierarchy;

    private static readonly Assembly Library = typeof(Block).Assembly;

    /// <summary>The documentation of a public member refers only to what its reader can use, too.</summary>
    [Fact]
    public void ReferencesAreToPublicMembers()
    {
        XDocument documentation = XDocument.Load(Path.ChangeExtension(Library.Location, ".xml"));
        int references = 0;
        var hidden = new List<string>();
        foreach (XElement member in documentation.Descendants("member"))
        {
            string name = member.Attribute("name")!.Value;
            if (!IsVisible(name))
            {
                continue;
            }
            foreach (string target in member.Descendants().Attributes("cref").Select(cref => cref.Value))
            {
                references++;
                if (!IsVisible(target))
                {
                    hidden.Add($"{name} refers to {target}");
                }
            }
        }
        Assert.Empty(hidden);
        Assert.InRange(references, 200, int.MaxValue);
    }

    [Theory]
    [InlineData("T:Heed.NDArray", true)]
    [InlineData("T:Heed.PairList`2", true)]
    [InlineData("M:Heed.Block.Initialize(Heed.NDManager,Heed.DataType,Heed.Shape[])", true)]
    [InlineData("M:Heed.AbstractBlock.Prepare(Heed.Shape[])", true)]
    [InlineData("T:Heed.XavierInitializer.FactorType", true)]
    [InlineData("M:Heed.NDManager.Create``1(``0[])", true)]
    [InlineData("F:Heed.Status.IO", true)]
    [InlineData("T:System.ArgumentException", true)]
    [InlineData("T:Heed.BigEndianReader", false)]
    [InlineData("M:Heed.BigEndianReader.ReadByte(System.String)", false)]
    [InlineData("M:Heed.Parameter.DescribeValues", false)]
    [InlineData("M:Heed.Block.NoSuchMember", false)]
    [InlineData("!:NoSuchType", false)]
    public void KnowsWhatIsPublic(string name, bool isVisible) => Assert.Equal(isVisible, IsVisible(name));

    /// <summary>Whether a name in the documentation is one of another library, or of a public type or member of heed.
    /// Overloads are not distinguished.</summary>
    private static bool IsVisible(string name)
    {
        string path = name.Substring(2).Split('(')[0];
        if (name[0] is not ('T' or 'M' or 'P' or 'F' or 'E') || !path.StartsWith("Heed.", StringComparison.Ordinal))
        {
            return name[0] != '!';
        }
        if (name[0] == 'T')
        {
            return Find(path) is { IsVisible: true };
        }
        int dot = path.LastIndexOf('.');
        string member = path.Substring(dot + 1).Split('`')[0].Replace('#', '.');
        return Find(path.Substring(0, dot)) is { IsVisible: true } type
            && type.GetMember(member, Declared).Any(IsVisible);
    }

    /// <summary>A type by its name in the documentation, which has a dot before a nested type.</summary>
    private static Type? Find(string name) =>
        Array.Find(Library.GetTypes(), type => type.FullName!.Replace('+', '.') == name);

    private static bool IsVisible(MemberInfo member) => member switch
    {
        MethodBase method => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly,
        PropertyInfo property => property.GetAccessors(nonPublic: true).Any(IsVisible),
        FieldInfo field => field.IsPublic || field.IsFamily || field.IsFamilyOrAssembly,
        _ => true,
    };
}
