// SPDX-License-Identifier: Apache-2.0
System.Console.WriteLine(GoldenProgram.Run(args[0]));
