// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed.Tests;

/// <summary>The device that tests run on whose subject is none: the CPU, or what HEED_TEST_DEVICE in the environment
/// names. Those with the trait Device=cpu run on the CPU alone, those with Device=ascend on an NPU alone.</summary>
internal static class TestDevice
{
    internal const string Trait = "Device";

    internal static readonly Device Device =
        Device.FromName(Environment.GetEnvironmentVariable("HEED_TEST_DEVICE") ?? "cpu");

    internal static NDManager NewManager() => NDManager.NewBaseManager(
        Device, new ContextOptions { AllowReducedPrecision = !Device.Equals(Device.Cpu()) });
}
