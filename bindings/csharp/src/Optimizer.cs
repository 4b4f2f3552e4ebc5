// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;

namespace Heed;

/// <summary>Changes parameters by their gradients: <see cref="Sgd"/>, <see cref="Adam"/> and <see cref="AdamW"/>, with the
/// formulas, the defaults and, for the same gradients, the steps of PyTorch's optimizers.
/// <code>
/// using var optimizer = new AdamW(block.Parameters, learningRate: 3e-4);
/// foreach (...)
/// {
///     using GradientTape tape = manager.NewGradientTape();
///     tape.Backward(Loss.CrossEntropy(block.Forward(ids), labels));
///     optimizer.ClipGradients(1);
///     optimizer.Step();
///     optimizer.ZeroGradients();
/// }
/// </code></summary>
/// <remarks>Only parameters whose <see cref="Parameter.RequiresGradient"/> is true are changed. The optimizer keeps what it
/// knows of a parameter from its first step on, by its name: one number for each element with a momentum, two for
/// Adam; <see cref="Save"/> and <see cref="Load"/> carry that over to another run. The calls of several threads run one
/// after another. <see cref="Dispose"/> frees its memory; the garbage collector frees that of an optimizer that is not
/// disposed. Every member but Dispose, LearningRate's getter and ToString throws <see cref="ObjectDisposedException"/>
/// afterwards, and the members that read or change gradients also once a block of the parameters is disposed.</remarks>
public abstract unsafe class Optimizer : IDisposable
{
    private readonly object gate = new object();
    private readonly ParameterGradients gradients;

    /// <summary>Makes the native optimizer with the options of the constructor.</summary>
    private readonly Func<NativeContext, NativeOptimizer> make;
    private NativeOptimizer native;

    /// <summary>The context that the native optimizer was made in, which must be that of the parameters at a
    /// step.</summary>
    private NativeContext context = Library.Context;

    /// <summary>Whether the native optimizer has nothing but the options of the constructor and the learning
    /// rate.</summary>
    private bool isFresh = true;
    private double learningRate;

    private protected Optimizer(
        ParameterList parameters, double learningRate, Func<NativeContext, NativeOptimizer> make)
    {
        gradients = new ParameterGradients(parameters ?? throw new ArgumentNullException(nameof(parameters)));
        if (!parameters.Values.Any(parameter => parameter.RequiresGradient))
        {
            throw new ArgumentException(
                "parameters has none that requires a gradient, expected at least one", nameof(parameters));
        }
        this.learningRate = learningRate;
        this.make = make;
        native = make(context);
    }

    /// <summary>The learning rate of the steps that follow: a program's schedule sets it before a step.</summary>
    /// <exception cref="ArgumentException">It is no number of at least 0 that is finite in Float32.</exception>
    public double LearningRate
    {
        get
        {
            lock (gate)
            {
                return learningRate;
            }
        }

        set
        {
            lock (gate)
            {
                Open().SetLearningRate(value);
                learningRate = value;
            }
        }
    }

    /// <summary>The name of the tensor of the options in a file.</summary>
    private protected abstract string OptionsName { get; }

    /// <summary>Changes each parameter that requires a gradient by its gradient: one native call, during which no other
    /// call uses their blocks. The gradients stay as they are, for <see cref="ZeroGradients"/>. The bits depend on neither
    /// threads nor instruction set. If it fails, it has changed nothing.</summary>
    /// <exception cref="ArgumentException">A gradient is not finite; the sentence says which, and where. Or the learning rate
    /// is not finite in Float32 times a group's factor, or by the corrections of Adam. Or a block has made its parameters
    /// anew since the last step, as Clear, Cast and LoadParameters do, or <see cref="Parameter.SetArray"/> has given one of
    /// the program's own another array: make an optimizer after that. Or a state that was loaded has another
    /// shape.</exception>
    /// <exception cref="InvalidOperationException">A parameter has no values, or all are frozen.</exception>
    /// <exception cref="NotSupportedException">A parameter is not of Float32: load it with
    /// <see cref="LoadOptions.Widen"/>, or freeze it.</exception>
    /// <exception cref="HeedException">With <see cref="Status.NotFound"/>: a group has no parameter, or a state that was
    /// loaded is of a parameter that is not there.</exception>
    public void Step()
    {
        lock (gate)
        {
            Open();
            MoveTo(gradients.Context);
            gradients.Step(native);
            isFresh = false;
        }
    }

    /// <summary>Sets the gradients of the parameters to 0, which <see cref="GradientTape.Backward"/> adds to.</summary>
    /// <exception cref="InvalidOperationException">A parameter has no values.</exception>
    public void ZeroGradients()
    {
        lock (gate)
        {
            Open();
            gradients.Zero();
        }
    }

    /// <summary>Scales all gradients together to a norm of at most a number, as clip_grad_norm_ of PyTorch: by
    /// <c>min(1, maxNorm / (norm + 1e-6))</c>. The norm is the root of the sum of the squares of all of them.</summary>
    /// <param name="maxNorm">The number, 0 or more; infinite: the norm is only computed.</param>
    /// <returns>The norm before.</returns>
    /// <exception cref="ArgumentException">The number is negative or NaN, or a gradient is not finite; the sentence says
    /// which, and where. No gradient has changed.</exception>
    /// <exception cref="InvalidOperationException">A parameter has no values.</exception>
    public double ClipGradients(double maxNorm)
    {
        lock (gate)
        {
            Open();
            return gradients.ClipNorm(maxNorm);
        }
    }

    /// <summary>Gives parameters a learning rate and a weight decay of their own, such as norms and biases no decay. Of
    /// several groups that a parameter is in, that of the longest prefix counts.</summary>
    /// <param name="prefix">The parameters: those of this name, and those whose names begin with it and a dot, such as
    /// "layers.0.norm_1"; "": all. A second call with a prefix replaces its numbers.</param>
    /// <param name="learningRateFactor">Times the optimizer's learning rate, 0 or more.</param>
    /// <param name="weightDecay">In the place of the optimizer's, 0 or more.</param>
    /// <exception cref="ArgumentException">A number is out of range, or the prefix has a line feed.</exception>
    /// <exception cref="HeedException">With <see cref="Status.NotFound"/>: no parameter has the prefix. Before the first
    /// step it is the step that finds it.</exception>
    public void SetGroup(string prefix, double learningRateFactor = 1, double weightDecay = 0)
    {
        byte[] name = NativeText.ToNative(prefix, nameof(prefix));
        using var group = new NativeParameterGroup
        {
            LearningRateFactor = learningRateFactor,
            WeightDecay = weightDecay,
        };
        lock (gate)
        {
            NativeOptimizer open = Open();
            fixed (byte* start = name)
            {
                open.SetGroup(start, group);
            }
            isFresh = false;
        }
    }

    /// <summary>Writes everything of the optimizer to a .safetensors file: its options, groups, and of each parameter the
    /// number of its steps and its state. docs/training.md lists the tensors. The file is replaced as a whole. The
    /// parameters are the block's to save.</summary>
    /// <param name="path">The file.</param>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: it cannot be written.</exception>
    public void Save(string path)
    {
        byte[] file = NativeText.ToNative(path, nameof(path));
        lock (gate)
        {
            SaveTo(Open(), file);
        }
    }

    /// <summary>Takes everything from a file of <see cref="Save"/>: after the block's Load and this one training goes on
    /// with the same bits. The options of the file count, also its learning rate, in the place of those of the constructor.
    /// On failure nothing is changed.</summary>
    /// <param name="path">The file.</param>
    /// <exception cref="ArgumentException">It is of another class of optimizers.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: it is missing or cannot be read;
    /// <see cref="Status.CorruptFile"/>: it does not follow its format; <see cref="Status.NotFound"/>: it is no file of an
    /// optimizer.</exception>
    public void Load(string path)
    {
        byte[] file = NativeText.ToNative(path, nameof(path));
        lock (gate)
        {
            Open();
            NativeOptimizer loaded = make(context);
            try
            {
                LoadFrom(loaded, file);
                double[] options = OptionsIn(file);
                CheckKind(path, options);
                learningRate = options[0];
            }
            catch
            {
                loaded.Dispose();
                throw;
            }
            Replace(loaded, context);
            isFresh = false;
        }
    }

    /// <summary>Frees the memory. Parameters and gradients stay. A second call does nothing.</summary>
    public void Dispose()
    {
        lock (gate)
        {
            native.Dispose();
        }
    }

    /// <summary>Describes the optimizer.</summary>
    /// <returns>The text.</returns>
    public override string ToString()
    {
        lock (gate)
        {
            string closed = native.SafeHandle.IsDisposed ? ", closed" : string.Empty;
            return $"{GetType().Name}(learningRate={learningRate}{closed})";
        }
    }

    /// <summary>Throws if a file whose options these are is of another class.</summary>
    private protected virtual void CheckKind(string path, double[] options)
    {
    }

    private static void SaveTo(NativeOptimizer optimizer, byte[] file)
    {
        fixed (byte* start = file)
        {
            optimizer.Save(start);
        }
    }

    private static void LoadFrom(NativeOptimizer optimizer, byte[] file)
    {
        fixed (byte* start = file)
        {
            optimizer.Load(start);
        }
    }

    private double[] OptionsIn(byte[] file)
    {
        fixed (byte* start = file, name = NativeText.ToNative(OptionsName, nameof(file)))
        {
            using NativeTensor tensor = NativeTensor.LoadSafetensors(Library.Context, start, name);
            var options = new double[tensor.Dim(0)];
            fixed (double* numbers = options)
            {
                tensor.Read(numbers, (ulong)options.Length * sizeof(double));
            }
            return options;
        }
    }

    private NativeOptimizer Open() => native.SafeHandle.IsDisposed ? throw Errors.ClosedOptimizer() : native;

    private void Replace(NativeOptimizer next, NativeContext there)
    {
        native.Dispose();
        native = next;
        context = there;
    }

    /// <summary>Makes the native optimizer one of another context. What it knows is carried over in a file, since heed has
    /// no other form of it: only where options or a device other than the default ones are first seen after a Load or a
    /// SetGroup.</summary>
    private void MoveTo(NativeContext there)
    {
        if (ReferenceEquals(there, context))
        {
            return;
        }
        NativeOptimizer moved = make(there);
        try
        {
            if (isFresh)
            {
                moved.SetLearningRate(learningRate);
            }
            else
            {
                CopyTo(moved);
            }
        }
        catch
        {
            moved.Dispose();
            throw;
        }
        Replace(moved, there);
    }

    private void CopyTo(NativeOptimizer moved)
    {
        string path = Path.GetTempFileName();
        try
        {
            byte[] file = NativeText.ToNative(path, nameof(path));
            SaveTo(native, file);
            LoadFrom(moved, file);
        }
        finally
        {
            File.Delete(path);
        }
    }
}
