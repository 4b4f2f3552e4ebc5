// SPDX-License-Identifier: Apache-2.0
// What docs/csharp.md takes of the packages Microsoft.Extensions.Logging and .Console, which need not be there.
namespace Microsoft.Extensions.Logging;

public enum LogLevel
{
    Trace,
    Debug,
    Information,
    Warning,
    Error,
    Critical,
    None,
}

public interface ILogger
{
}

public interface ILoggingBuilder
{
}

public interface ILoggerFactory
{
    ILogger CreateLogger(string categoryName);
}

public static class LoggerFactory
{
    public static ILoggerFactory Create(Action<ILoggingBuilder> configure) => throw new NotSupportedException();
}

public static class Extensions
{
    public static void Log(this ILogger logger, LogLevel logLevel, string? message, params object?[] args) =>
        throw new NotSupportedException();

    public static ILoggingBuilder AddConsole(this ILoggingBuilder builder) => builder;
}
