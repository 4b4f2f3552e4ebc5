// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>An array that a block computes with, such as its weights. heed's own blocks have parameters, which
/// <see cref="Block.Parameters"/> returns; a subclass of <see cref="AbstractBlock"/> may add others.</summary>
/// <remarks>The array of a parameter of one of heed's own blocks is a snapshot: it keeps its values when the block's
/// parameter changes, but setting its elements also sets the block's parameter. The array of any other parameter is the
/// parameter itself.</remarks>
public class Parameter
{
    private readonly object gate = new object();
    private NDArray? array;
    private Shape? shape;

    /// <summary>The gradient as a set of one, which optimizers take, and as an array; null: it was not needed yet, or the
    /// values are others since.</summary>
    private NativeGradients? set;
    private NDArray? gradient;
    private OwnParameterLeaf? leaf;

    /// <summary>Makes a parameter without values.</summary>
    /// <param name="name">The name within its block.</param>
    /// <param name="type">The purpose.</param>
    /// <param name="shape">The shape; null: <see cref="AbstractBlock.Prepare"/> of its block sets it.</param>
    /// <param name="initializer">Makes the first values; null: the initializer of the type.</param>
    public Parameter(
        string name, ParameterType type = ParameterType.Weight, Shape? shape = null, Initializer? initializer = null)
    {
        Name = name ?? throw new ArgumentNullException(nameof(name));
        Type = type;
        this.shape = shape;
        Initializer = initializer;
    }

    /// <summary>The name within its block, such as "weight".</summary>
    public string Name { get; }

    /// <summary>The purpose of the parameter.</summary>
    public ParameterType Type { get; }

    /// <summary>The initializer of the first values; null: the default of the parameter's type, or, for heed's own
    /// blocks, heed's default.</summary>
    public Initializer? Initializer { get; private set; }

    /// <summary>False once the parameter is frozen: gradient tapes then compute no gradient of it, and optimizers leave it
    /// as it is.</summary>
    public bool RequiresGradient { get; private set; } = true;

    /// <summary>Whether the parameter has values.</summary>
    public virtual bool IsInitialized
    {
        get
        {
            lock (gate)
            {
                return array is { IsReleased: false };
            }
        }
    }

    /// <summary>The shape; null if it is not known yet.</summary>
    public virtual Shape? Shape
    {
        get
        {
            lock (gate)
            {
                return shape;
            }
        }
    }

    /// <summary>The values. For a parameter of one of heed's own blocks, this is a new snapshot each time. It belongs
    /// to the manager of the block's parameters, and its Set methods set the block's parameter as
    /// <see cref="SetArray"/> does. On the CPU a snapshot of a projection's weight takes memory of its own until it is
    /// disposed; <see cref="Shape"/> takes none.</summary>
    /// <exception cref="InvalidOperationException">The parameter has no values.</exception>
    /// <exception cref="ObjectDisposedException">The block, or the manager of its parameters, is
    /// disposed.</exception>
    public virtual NDArray Array
    {
        get
        {
            lock (gate)
            {
                return array is { IsReleased: false } ? array : throw Uninitialized();
            }
        }
    }

    /// <summary>The sum of the gradients of all backwards since it was zero: zeros before the first one. A view of that
    /// sum, which the program may read and write, until the parameter gets another array, or another parameter of its
    /// block is frozen.</summary>
    /// <exception cref="InvalidOperationException">The parameter is frozen, or has no values.</exception>
    /// <exception cref="NotSupportedException">The parameter is of 16 bits.</exception>
    /// <exception cref="ObjectDisposedException">The block, or the manager of its parameters, is
    /// disposed.</exception>
    public NDArray Gradient => RequiresGradient ? GradientArray : throw GradientLeaf.NotRequired(Name);

    /// <summary>Sets the values. A parameter of one of heed's own blocks gets a converted copy: its type and shape
    /// stay, or are the array's if it has none yet. The call waits for calls of Forward on other threads. Any other
    /// parameter keeps the array itself.</summary>
    /// <param name="array">The values.</param>
    /// <exception cref="ArgumentException">The array has another shape than the parameter, or a type that the block
    /// cannot have.</exception>
    /// <exception cref="ObjectDisposedException">The array or the block is disposed.</exception>
    public virtual void SetArray(NDArray array)
    {
        _ = array ?? throw new ArgumentNullException(nameof(array));
        Tape.Refuse(nameof(SetArray), array);
        lock (gate)
        {
            CheckShape(array.Shape);
            Take(array);
            shape = array.Shape;
        }
    }

    /// <summary>Sets the shape of a parameter without values.</summary>
    /// <param name="shape">The shape.</param>
    /// <exception cref="InvalidOperationException">The parameter has values of another shape, or belongs to one of
    /// heed's own blocks, which determines its shape.</exception>
    public virtual void SetShape(Shape shape)
    {
        _ = shape ?? throw new ArgumentNullException(nameof(shape));
        lock (gate)
        {
            if (array is { IsReleased: false } && !shape.Equals(this.shape))
            {
                throw new InvalidOperationException($"{Name} has values of shape {this.shape}, not {shape}");
            }
            this.shape = shape;
        }
    }

    /// <summary>Sets the initializer. A parameter that already has values keeps them.</summary>
    /// <param name="initializer">The initializer.</param>
    public void SetInitializer(Initializer initializer) =>
        Initializer = initializer ?? throw new ArgumentNullException(nameof(initializer));

    /// <summary>Makes the first values of the parameter, unless it has values. <see cref="Block.Initialize(NDManager, DataType, Shape?[])"/> does this
    /// for all parameters of a block.</summary>
    /// <param name="manager">The owner of the array.</param>
    /// <param name="dataType">The type of its elements.</param>
    /// <exception cref="InvalidOperationException">The shape is not known; the parameter is of type
    /// <see cref="ParameterType.Other"/> and has no initializer; the initializer returned null; or the parameter
    /// belongs to one of heed's own blocks, which initializes all its parameters together.</exception>
    /// <exception cref="ArgumentException">The initializer returned an array of another shape.</exception>
    public virtual void Initialize(NDManager manager, DataType dataType)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        lock (gate)
        {
            if (array is { IsReleased: false })
            {
                return;
            }
            Shape known = shape ?? throw new InvalidOperationException(
                $"{Name} has no shape: give it one, or set it in Prepare");
            Initializer first = Initializer ?? DefaultInitializer() ?? throw new InvalidOperationException(
                $"{Name} is of type {Type} and has no initializer");
            NDArray values = first.Initialize(manager, known, dataType)
                ?? throw new InvalidOperationException($"the initializer of {Name} gave null");
            SetArray(manager.OutOfScope(values));
        }
    }

    /// <summary>Marks the parameter as frozen, or removes the mark: see <see cref="RequiresGradient"/>.</summary>
    /// <param name="freeze">True to mark it, false to remove the mark.</param>
    public void Freeze(bool freeze)
    {
        if (RequiresGradient == freeze)
        {
            RequiresGradient = !freeze;
            Frozen();
        }
    }

    /// <summary>The name, and, as far as they are known, shape and type, as in "Parameter weight (2, 3)
    /// Float32".</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"Parameter {Name} {DescribeValues()}";

    /// <summary>The gradient of a parameter that requires one and is of no block of heed's, as a set of one.</summary>
    internal unsafe NativeGradients GradientSet
    {
        get
        {
            lock (gate)
            {
                NDArray values = array is { IsReleased: false } ? array : throw Uninitialized();
                if (set is { SafeHandle: { IsDisposed: false } })
                {
                    return set;
                }
                if (values.DataType != DataType.Float32)
                {
                    throw new NotSupportedException($"{Name} is of {values.DataType}, expected Float32 for gradients");
                }
                NativeGradients made;
                fixed (byte* name = NativeText.ToNative(Name, nameof(Name)))
                {
                    made = NativeGradients.CreateOfTensor(values.Tensor, name);
                }
                made.SafeHandle.Keep(SharedMemory.OfHeed(values.Tensor.NumBytes()));
                values.Manager.Own(made.SafeHandle, kind: null);
                return set = made;
            }
        }
    }

    /// <summary>The gradient of a parameter that requires one.</summary>
    private protected virtual unsafe NDArray GradientArray
    {
        get
        {
            lock (gate)
            {
                NativeGradients open = GradientSet;
                if (gradient is null or { IsReleased: true })
                {
                    NDManager owner = array!.Manager;
                    NativeTensor view;
                    fixed (byte* name = NativeText.ToNative(Name, nameof(Name)))
                    {
                        view = open.Tensor(name);
                    }
                    owner.Own(view);
                    gradient = new NDArray(owner, view);
                }
                return gradient;
            }
        }
    }

    /// <summary>What follows when the parameter is frozen, or no longer is.</summary>
    private protected virtual void Frozen()
    {
        lock (gate)
        {
            // The gradient of a parameter that is trained again begins with 0.
            gradient?.Dispose();
            gradient = null;
            set?.Dispose();
            set = null;
        }
    }

    /// <summary>The part of ToString after the name.</summary>
    internal virtual string DescribeValues()
    {
        lock (gate)
        {
            return shape is null ? "(shape not known)"
                : array is { IsReleased: false } ? $"{shape} {array.DataType}" : $"{shape} without values";
        }
    }

    /// <summary>Returns an action that restores the present shape and values of the parameter, and disposes other
    /// values.</summary>
    internal Action Undo()
    {
        lock (gate)
        {
            Shape? shapeNow = shape;
            NDArray? arrayNow = array;
            return () =>
            {
                lock (gate)
                {
                    if (!ReferenceEquals(array, arrayNow))
                    {
                        array?.Dispose();
                    }
                    Take(arrayNow);
                    shape = shapeNow;
                }
            };
        }
    }

    /// <summary>Disposes the values; the parameter then has none.</summary>
    internal virtual void ReleaseArray()
    {
        lock (gate)
        {
            array?.Dispose();
            Take(null);
        }
    }

    internal void CastArray(DataType dataType)
    {
        lock (gate)
        {
            NDArray before = array is { IsReleased: false } ? array : throw Uninitialized();
            Take(before.StopGradient().ToType(dataType, copy: true));
            before.Dispose();
        }
    }

    /// <summary>Takes another array, and drops the gradient of the one before.</summary>
    private void Take(NDArray? values)
    {
        if (ReferenceEquals(values, array))
        {
            return;
        }
        if (array?.Leaf is { } before && ReferenceEquals(before, leaf))
        {
            array.Leaf = null;
        }
        gradient?.Dispose();
        gradient = null;
        set?.Dispose();
        set = null;
        array = values;
        if (values is not null)
        {
            values.Leaf = leaf ??= new OwnParameterLeaf(this);
        }
    }

    internal InvalidOperationException Uninitialized() => new($"{Name} is not set");

    /// <summary>Throws unless the parameter can have values of this shape.</summary>
    internal void CheckShape(Shape found)
    {
        Shape? expected = Shape;
        if (expected is not null && !found.Equals(expected))
        {
            throw new ArgumentException($"{Name} is of shape {expected}, got {found}", "array");
        }
    }

    private Initializer? DefaultInitializer() => Type switch
    {
        ParameterType.Weight => new XavierInitializer(),
        ParameterType.Bias or ParameterType.Beta or ParameterType.RunningMean => Initializer.Zeros,
        ParameterType.Gamma or ParameterType.RunningVar => Initializer.Ones,
        _ => null,
    };
}
