// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed.Tests;

/// <summary>The device for tests that are not about a device: the CPU, or the one that HEED_TEST_DEVICE in the
/// environment names. Tests with the trait Device=cpu run on the CPU only, those with Device=ascend on an NPU
/// only.</summary>
internal static class TestDevice
{
    internal const string Trait = "Device";

    internal static readonly Device Device =
        Device.FromName(Environment.GetEnvironmentVariable("HEED_TEST_DEVICE") ?? "cpu");

    internal static bool IsCpu => Device.Equals(Device.Cpu());

    internal static NDManager NewManager() =>
        NDManager.NewBaseManager(Device, new ContextOptions { AllowReducedPrecision = !IsCpu });
}
