// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace MakeModel;

/// <summary>A sentence and its translation, as words. "l'" and the like are words of their own.</summary>
internal sealed record Pair(string[] English, string[] French);

/// <summary>What English leaves open.</summary>
/// <param name="IsFormal">"you" is "vous", and not "tu".</param>
/// <param name="IsLiterary">The "not" of a formal sentence is "ne ... point", and not "ne ... pas".</param>
/// <param name="AreFeminine">"they" is "elles", and not "ils".</param>
internal readonly record struct Style(bool IsFormal, bool IsLiterary, bool AreFeminine)
{
    internal static Style Draw(Random random) =>
        new(random.NextDouble() < 0.6, random.NextDouble() < 0.45, random.NextDouble() < 0.4);

    internal static IEnumerable<Style> All() =>
        from bits in Enumerable.Range(0, 8)
        select new Style((bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0);
}

/// <summary>Draws an English sentence and its French translation in a style. The style does not change what the same
/// random numbers draw in English.</summary>
internal sealed class Grammar(Random random, Style style)
{
    private sealed record Noun(
        string English, string EnglishPlural, string French, string FrenchPlural, bool IsFeminine = false);

    private sealed record Adjective(string English, string[] Masculine, string[] Feminine);

    /// <summary>French has the forms of je, il, nous, vous, ils, tu.</summary>
    private sealed record Verb(string[] English, string[] EnglishThirdPerson, string[] French);

    private sealed record Preposition(string[] English, string French, Noun[] Nouns);

    /// <summary>Words of a subject or an object, and what other words agree with.</summary>
    private sealed record Phrase(List<string> English, List<string> French, Person Person, bool IsFeminine);

    private enum Person
    {
        I,
        He,
        We,
        You,
        They,
        Thou,
    }

    private static readonly Noun Cat = new("cat", "cats", "chat", "chats");
    private static readonly Noun Dog = new("dog", "dogs", "chien", "chiens");
    private static readonly Noun Bird = new("bird", "birds", "oiseau", "oiseaux");
    private static readonly Noun Horse = new("horse", "horses", "cheval", "chevaux");
    private static readonly Noun Cow = new("cow", "cows", "vache", "vaches", true);
    private static readonly Noun Bee = new("bee", "bees", "abeille", "abeilles", true);
    private static readonly Noun Tree = new("tree", "trees", "arbre", "arbres");
    private static readonly Noun Garden = new("garden", "gardens", "jardin", "jardins");
    private static readonly Noun House = new("house", "houses", "maison", "maisons", true);
    private static readonly Noun Church = new("church", "churches", "église", "églises", true);
    private static readonly Noun Car = new("car", "cars", "voiture", "voitures", true);
    private static readonly Noun Table = new("table", "tables", "table", "tables", true);
    private static readonly Noun Book = new("book", "books", "livre", "livres");
    private static readonly Noun Flower = new("flower", "flowers", "fleur", "fleurs", true);
    private static readonly Noun Apple = new("apple", "apples", "pomme", "pommes", true);

    private static readonly Noun[] Animals = [Cat, Dog, Bird, Horse, Cow, Bee];
    private static readonly Noun[] Nouns =
        [.. Animals, Tree, Garden, House, Church, Car, Table, Book, Flower, Apple];

    /// <summary>Before the noun in French, too.</summary>
    private static readonly Adjective[] Sizes =
    [
        new("small", ["petit", "petits"], ["petite", "petites"]),
        new("large", ["grand", "grands"], ["grande", "grandes"]),
    ];

    /// <summary>Behind the noun in French.</summary>
    private static readonly Adjective[] Colours =
    [
        new("black", ["noir", "noirs"], ["noire", "noires"]),
        new("white", ["blanc", "blancs"], ["blanche", "blanches"]),
        new("green", ["vert", "verts"], ["verte", "vertes"]),
        new("blue", ["bleu", "bleus"], ["bleue", "bleues"]),
        new("red", ["rouge", "rouges"], ["rouge", "rouges"]),
    ];

    private static readonly Verb[] Verbs =
    [
        new(["see"], ["sees"], ["vois", "voit", "voyons", "voyez", "voient", "vois"]),
        new(["love"], ["loves"], ["aime", "aime", "aimons", "aimez", "aiment", "aimes"]),
        new(["look", "for"], ["looks", "for"], ["cherche", "cherche", "cherchons", "cherchez", "cherchent", "cherches"]),
        new(["find"], ["finds"], ["trouve", "trouve", "trouvons", "trouvez", "trouvent", "trouves"]),
        new(["buy"], ["buys"], ["achète", "achète", "achetons", "achetez", "achètent", "achètes"]),
        new(["draw"], ["draws"], ["dessine", "dessine", "dessinons", "dessinez", "dessinent", "dessines"]),
    ];

    private static readonly Preposition[] Prepositions =
    [
        new(["in"], "dans", [Garden, House, Church, Car]),
        new(["under"], "sous", [Tree, Table]),
        new(["on"], "sur", [Table, House, Car]),
        new(["in", "front", "of"], "devant", [Garden, House, Church, Car, Tree, Table]),
    ];

    internal Pair Draw()
    {
        bool isNegated = Chance(0.4);
        Phrase subject;
        List<string> english;
        List<string> french;
        if (Chance(0.3))
        {
            // What something is like, or where.
            bool isPronoun = Chance(0.3);
            subject = isPronoun ? Pronoun(["he", "she", "they"]) : NounPhrases(Nouns);
            bool isPlural = subject.Person == Person.They;
            english = [.. subject.English, isPlural ? "are" : "is", .. Words(isNegated, "not")];
            french = [.. subject.French, .. Negated(isNegated, subject, isPlural ? "sont" : "est")];
            if (Chance(0.6))
            {
                Adjective adjective = Pick(isPronoun ? Sizes : [.. Sizes, .. Colours]);
                english.Add(adjective.English);
                french.Add(Agreeing(adjective, subject.IsFeminine, isPlural));
            }
            else
            {
                AddPlace(english, french);
            }
            return new Pair([.. english], [.. french]);
        }

        // What somebody does.
        subject = Chance(0.5) ? Pronoun(["I", "you", "we", "he", "she", "they"]) : NounPhrases(Animals);
        Verb verb = Pick(Verbs);
        Phrase thing = NounPhrase(Nouns, isNegated);
        bool isThirdPerson = subject.Person == Person.He;
        english = subject.English;
        if (isNegated)
        {
            english.AddRange([isThirdPerson ? "does" : "do", "not"]);
        }
        english.AddRange(isThirdPerson && !isNegated ? verb.EnglishThirdPerson : verb.English);
        english.AddRange(thing.English);
        string form = verb.French[(int)subject.Person];
        french = subject.French;
        if (french is ["je"] && !isNegated && BeginsWithVowel(form))
        {
            french = ["j'"];
        }
        french.AddRange(Negated(isNegated, subject, form));
        french.AddRange(thing.French);
        if (Chance(0.3))
        {
            AddPlace(english, french);
        }
        return new Pair([.. english], [.. french]);
    }

    private Phrase Pronoun(string[] pronouns)
    {
        string english = Pick(pronouns);
        var (french, person, isFeminine) = english switch
        {
            "I" => ("je", Person.I, false),
            "you" => style.IsFormal ? ("vous", Person.You, false) : ("tu", Person.Thou, false),
            "we" => ("nous", Person.We, false),
            "he" => ("il", Person.He, false),
            "she" => ("elle", Person.He, true),
            "they" => style.AreFeminine ? ("elles", Person.They, true) : ("ils", Person.They, false),
            _ => throw new ArgumentException($"there is no pronoun {english}"),
        };
        return new Phrase([english], [french], person, isFeminine);
    }

    /// <summary>One, or two that "and" joins.</summary>
    private Phrase NounPhrases(Noun[] nouns)
    {
        Phrase first = NounPhrase(nouns, false);
        if (Chance(0.8))
        {
            return first;
        }
        Phrase second = NounPhrase(nouns, false);
        return new Phrase(
            [.. first.English, "and", .. second.English], [.. first.French, "et", .. second.French], Person.They,
            first.IsFeminine && second.IsFeminine);
    }

    /// <summary>An article or the like, adjectives and a noun. isNegated: the object of a verb with "not".</summary>
    private Phrase NounPhrase(Noun[] nouns, bool isNegated)
    {
        Noun noun = Pick(nouns);
        string article = Pick(["the", "the", "the", "a", "a", "some", "this", "these", "my", "two", "three"]);
        bool isPlural = article is "some" or "these" or "two" or "three"
            || (article is "the" or "my" && Chance(0.3));
        Adjective? size = Chance(0.25) ? Pick(Sizes) : null;
        Adjective? colour = Chance(0.35) ? Pick(Colours) : null;

        List<string> french = [isPlural ? noun.FrenchPlural : noun.French];
        if (size is not null)
        {
            french.Insert(0, Agreeing(size, noun.IsFeminine, isPlural));
        }
        if (colour is not null)
        {
            french.Add(Agreeing(colour, noun.IsFeminine, isPlural));
        }
        french.Insert(0, FrenchArticle(article, noun.IsFeminine, isPlural, size is not null, isNegated, french[0]));

        List<string> english = [isPlural ? noun.EnglishPlural : noun.English];
        if (colour is not null)
        {
            english.Insert(0, colour.English);
        }
        if (size is not null)
        {
            english.Insert(0, size.English);
        }
        english.Insert(0, article switch
        {
            "a" when "aeiou".Contains(english[0][0]) => "an",
            "some" when isNegated => "any",
            _ => article,
        });
        return new Phrase(english, french, isPlural ? Person.They : Person.He, noun.IsFeminine);
    }

    /// <summary>Before the word next.</summary>
    private static string FrenchArticle(
        string english, bool isFeminine, bool isPlural, bool hasSize, bool isNegated, string next)
    {
        bool isElided = BeginsWithVowel(next);
        return english switch
        {
            "the" => isPlural ? "les" : isElided ? "l'" : isFeminine ? "la" : "le",
            "a" or "some" when isNegated => isElided ? "d'" : "de",
            "a" => isFeminine ? "une" : "un",
            "some" => hasSize ? "de" : "des",
            "this" => isFeminine ? "cette" : isElided ? "cet" : "ce",
            "these" => "ces",
            "my" => isPlural ? "mes" : isFeminine && !isElided ? "ma" : "mon",
            "two" => "deux",
            "three" => "trois",
            _ => throw new ArgumentException($"there is no article {english}"),
        };
    }

    private void AddPlace(List<string> english, List<string> french)
    {
        Preposition preposition = Pick(Prepositions);
        Phrase place = NounPhrase(preposition.Nouns, false);
        english.AddRange([.. preposition.English, .. place.English]);
        french.AddRange([preposition.French, .. place.French]);
    }

    private string[] Negated(bool isNegated, Phrase subject, string verb)
    {
        bool isLiterary = subject.Person == Person.You && style.IsLiterary;
        return isNegated ? [BeginsWithVowel(verb) ? "n'" : "ne", verb, isLiterary ? "point" : "pas"] : [verb];
    }

    private static string[] Words(bool areThere, params string[] words) => areThere ? words : [];

    private static string Agreeing(Adjective adjective, bool isFeminine, bool isPlural) =>
        (isFeminine ? adjective.Feminine : adjective.Masculine)[isPlural ? 1 : 0];

    /// <summary>Of a French word.</summary>
    private static bool BeginsWithVowel(string word) => "aeioué".Contains(word[0]);

    private bool Chance(double probability) => random.NextDouble() < probability;

    private T Pick<T>(T[] items) => items[random.Next(items.Length)];
}
