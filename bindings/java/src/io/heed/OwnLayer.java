// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.StampedLock;
import java.util.function.Function;

/** The native layer of a block, with its lock, its context and the owner of its parameters. */
final class OwnLayer extends BlockLayer {
    private static final AtomicLong LAYERS = new AtomicLong();

    /** The layers that one thread locks, it locks in the order of these numbers. */
    final long number = LAYERS.getAndIncrement();
    /** A StampedLock, because a thread that takes it allocates nothing. */
    private final StampedLock lock = new StampedLock();
    private volatile NativeLayer layer;
    private volatile boolean closed;
    /** The context that the layer was made in. */
    private volatile LayerContext layerContext;
    /** Whether the layer has its parameters from a folder, which is read once, so that it stays where it was made. */
    private final boolean isOfFolder;
    /**
     * True once the layer is in the context of the user's arrays. Until then it may be made again in another context.
     */
    private volatile boolean bound;
    /** The owner of the parameters; null if the block itself owns them. */
    private NDManager owner;
    /**
     * The block's own managers, which own snapshots of its parameters: one for each context that the layer was in.
     * Guarded by this object's lock.
     */
    private final List<NDManager> own = new ArrayList<>();

    private final LayerPart part;
    private final LayerGradients gradients = new LayerGradients(this);
    /** How often the parameters have changed. */
    private volatile int changes;
    /** The layers of the block's children, and of their children. */
    private final List<ChildLayer> children = new CopyOnWriteArrayList<>();

    /** Throws if an option of the block is invalid. */
    OwnLayer(NativeBlock block) {
        this(block, LayerContext.initial(), false);
    }

    /**
     * The layer of a model, which has its parameters from the start.
     *
     * @param manager the owner, in whose context the layer is made; null: the block, in the default context
     */
    OwnLayer(NativeBlock block, NDManager manager) {
        this(block, manager == null ? LayerContext.initial() : manager.layerContext(), true);
        if (manager != null) {
            manager.own(layer);
            owner = manager;
        }
    }

    private OwnLayer(NativeBlock block, LayerContext context, boolean isOfFolder) {
        super(block);
        layerContext = context;
        this.isOfFolder = isOfFolder;
        bound = isOfFolder;
        layer = block.newLayer(context.context);
        for (long index = 0; index < layer.parameterCount(); index++) {
            String name = layer.parameterName(index);
            parameters.add(name, new LayerParameter(this, name, block.typeOf(name)));
        }
        part = LayerPart.of(layer);
        leaveToCollectorIfEmpty(layer);
        countMemory();
    }

    // ---- using it ---------------------------------------------------------------------------------------------------

    @Override
    long enter() {
        return lock.readLock();
    }

    @Override
    void leave(long stamp) {
        lock.unlockRead(stamp);
    }

    /** Begins a call that no other thread's call may run beside. Returns the argument for {@link #leaveAlone}. */
    long enterAlone() {
        return lock.writeLock();
    }

    void leaveAlone(long stamp) {
        lock.unlockWrite(stamp);
    }

    @Override
    NativeLayer get() {
        return layer;
    }

    @Override
    NativeContext context() {
        return layerContext.context;
    }

    @Override
    boolean isInitialized() {
        long stamp = lock.readLock();
        try {
            return hasParameters();
        } finally {
            lock.unlockRead(stamp);
        }
    }

    @Override
    void bindTo(NDArray array, String name) {
        NDArray.tensorOf(array, name);
        if (isOfFolder) {
            checkFitsContext(array, name);
        } else {
            follow(array);
        }
    }

    /** Moves the layer to the context of this array, unless it is bound or of a folder. */
    void follow(NDArray array) {
        boolean follows = parameters.isEmpty();
        if (array == null || (bound && !(follows && !array.getDevice().equals(layerContext.device)))) {
            return;
        }
        LayerContext wanted = array.getManager().layerContext();
        long stamp = lock.writeLock();
        try {
            if ((!bound || follows) && layer.isOpen()) {
                if (wanted.context != layerContext.context) {
                    put(copyIn(wanted.context), wanted, null);
                }
                bound = true;
            }
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    @Override
    void close() {
        closed = true;
        layer.close();
        synchronized (this) {
            own.forEach(NDManager::close);
        }
    }

    @Override
    void checkNotClosed() {
        if (closed) {
            throw new IllegalStateException(layer.closedSentence());
        }
    }

    // ---- children ---------------------------------------------------------------------------------------------------

    @Override
    LayerPart part() {
        return part;
    }

    @Override
    void add(ChildLayer child) {
        children.add(child);
    }

    @Override
    void own(NativeLayer child) {
        if (owner != null) {
            owner.own(child);
        }
    }

    // ---- parameters, all of them ------------------------------------------------------------------------------------

    @Override
    void initialize(NDManager manager, DataType dataType, LayerCall call, AtomicLong seeds) {
        LayerContext wanted = manager.layerContext();
        if (keepsParametersFor(wanted, call, dataType)) {
            return;
        }
        NativeLayer made = drawn(wanted.context, dataType, call, seeds.getAndIncrement());
        try {
            drawParameters(made, manager, dataType);
            manager.own(made);
            putUnlessThere(made, wanted, manager, call, dataType);
        } catch (Throwable error) {
            made.close();
            throw error;
        }
    }

    @Override
    void change(Change change) {
        long stamp = lock.writeLock();
        try {
            checkNotClosed();
            if (layer.isOpen()) {
                changes++;
                change.make(layer);
                countMemory();
                return;
            }
            LayerContext here = openLayerContext();
            NativeLayer made = anotherLayer(here.context);
            try {
                change.make(made);
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            put(made, here, null);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    @Override
    void cast(DataType dataType) {
        long stamp = lock.writeLock();
        try {
            checkNotClosed();
            LayerContext here = openLayerContext();
            NativeLayer made = anotherLayer(here.context);
            try {
                copyAs(dataType, layer, made, here.context);
                if (owner != null) {
                    owner.own(made);
                }
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            put(made, here, owner);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    @Override
    void clear() {
        setOnly(Map.of());
    }

    @Override
    Runnable undo(List<NativeTensor> snapshots) {
        if (isInitialized()) {
            return () -> {};
        }
        Map<LayerParameter, NativeTensor> values = new HashMap<>();
        long stamp = lock.readLock();
        try {
            for (Parameter parameter : parameters.values()) {
                NativeTensor value = valueIfThere(((LayerParameter) parameter).nativeName);
                if (value != null) {
                    snapshots.add(value);
                    values.put((LayerParameter) parameter, value);
                }
            }
        } finally {
            lock.unlockRead(stamp);
        }
        return () -> {
            if (isInitialized()) {
                setOnly(values);
            }
        };
    }

    /** Sets these parameters and removes all others. */
    private void setOnly(Map<LayerParameter, NativeTensor> values) {
        long stamp = lock.writeLock();
        try {
            checkNotClosed();
            LayerContext here = openLayerContext();
            NativeLayer made = anotherLayer(here.context);
            try {
                values.forEach((parameter, value) -> made.setParameter(parameter.nativeName, value));
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            put(made, here, null);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    @Override
    NativeLayer read(NDManager manager, ByteBuffer begin, long numBytes) {
        checkNotClosed();
        NativeLayer made = block.newLayer(manager.openContext());
        try {
            made.loadMemory(begin, numBytes, null);
            if (!parameters.isEmpty()) {
                manager.own(made);
            }
            return made;
        } catch (Throwable error) {
            made.close();
            throw error;
        }
    }

    @Override
    void replace(NativeLayer made, NDManager manager) {
        LayerContext here = manager.layerContext();
        long stamp = lock.writeLock();
        try {
            put(made, here, manager);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    // ---- parameters, one of them ------------------------------------------------------------------------------------

    /** Makes a snapshot of a parameter, owned by the manager of the parameters. Writing to it sets the parameter. */
    NDArray snapshot(LayerParameter parameter) {
        long stamp = lock.readLock();
        try {
            layer.checkOpen();
            NDManager manager = snapshotOwner();
            NativeTensor snapshot = layer.parameter(parameter.nativeName);
            manager.own(snapshot);
            NDArray array = new NDArray(manager, snapshot, parameter);
            // Also of 16 bits, whose gradient is refused by name.
            array.data().setLeaf(parameter.leaf());
            return array;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    // ---- gradients --------------------------------------------------------------------------------------------------

    @Override
    OwnLayer root() {
        return this;
    }

    /** Those of all threads. */
    LayerGradients sum() {
        return gradients;
    }

    @Override
    NativeGradients gradients() {
        return gradients.set();
    }

    @Override
    void passGradients(NativeGradients added) {}

    /** Only between enter and leave. */
    int changes() {
        return changes;
    }

    /** Counts that a call has changed the parameters. Only between enterAlone and leaveAlone. */
    void countChange() {
        changes++;
    }

    /** Tells the native layer whether a parameter is frozen. */
    void setTrainable(LayerParameter parameter) {
        long stamp = lock.writeLock();
        try {
            if (layer.isOpen()) {
                setTrainable(layer, parameter);
                gradients.makeAnew();
                children.forEach(ChildLayer::dropGradients);
            }
        } catch (IllegalStateException error) {
            // The layer was closed with its manager just now. The next one is told when it is put in its place.
            if (layer.isOpen()) {
                throw error;
            }
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    private static void setTrainable(NativeLayer made, LayerParameter parameter) {
        made.setTrainable(parameter.nativeName, parameter.requiresGradient() ? 1 : 0);
    }

    @Override
    void forgetGradients() {
        long stamp = lock.writeLock();
        try {
            gradients.drop();
            children.forEach(ChildLayer::dropGradients);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    NDManager ownerOfGradients() {
        return snapshotOwner();
    }

    // ---- values -----------------------------------------------------------------------------------------------------

    NativeTensor currentValue(ByteBuffer name) {
        long stamp = lock.readLock();
        try {
            return layer.parameter(name);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Returns null if the parameter has no values. */
    Shape shapeOf(ByteBuffer name) {
        return readForm(name, OwnLayer::shapeOf);
    }

    /** Returns null if the parameter has no values. */
    DataType dataTypeOf(ByteBuffer name) {
        return readForm(name, form -> DataType.of(form.dtype()));
    }

    /** The shape and the type of a parameter, or why it has none. */
    String describeValues(ByteBuffer name) {
        try {
            String values = readForm(name, form -> shapeOf(form) + " " + DataType.of(form.dtype()));
            return values == null ? "of unknown shape" : values;
        } catch (IllegalStateException error) {
            return "of a closed block";
        }
    }

    // ---- inside -----------------------------------------------------------------------------------------------------

    /** Gives the reader a tensor with the parameter's type and shape alone. Returns null if it has no values. */
    private <T> T readForm(ByteBuffer name, Function<NativeTensor, T> reader) {
        long stamp = lock.readLock();
        try (NativeTensor form = MessageSink.withoutMessages(() -> layer.parameterShape(name))) {
            return reader.apply(form);
        } catch (IllegalStateException error) {
            checkNotClosed();
            return null;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Throws if a call whose first array this is would have to be computed in another context than the layer's. */
    private void checkFitsContext(NDArray array, String name) {
        if (array == null) {
            return;
        }
        NDManager given = array.getManager();
        LayerContext here = layerContext;
        if (given.openContext() != here.context && !here.computesLike(given.getDevice(), given.options())) {
            throw new IllegalArgumentException(name + " is of a manager for " + given.getDevice() + " with "
                    + given.options() + ", but the model was loaded for " + here.device + " with " + here.options
                    + ": expected that device and these options, as load(folder, manager) takes them from a manager");
        }
    }

    /** Makes a layer without parameters. Throws if the layer is of a folder, which would be read again. */
    private NativeLayer anotherLayer(NativeContext context) {
        if (isOfFolder) {
            layer.checkOpen();
        }
        return block.newLayer(context);
    }

    private static Shape shapeOf(NativeTensor tensor) {
        return new Shape(ArrayData.dimsOf(tensor));
    }

    /**
     * Returns true if no layer has to be made: the parameters exist and fit these inputs, or the block has no
     * parameters.
     */
    private boolean keepsParametersFor(LayerContext wanted, LayerCall call, DataType dataType) {
        long stamp = lock.writeLock();
        try {
            if (!hasParameters()) {
                return false;
            }
            if (parameters.isEmpty() && wanted.context != layerContext.context) {
                put(block.newLayer(wanted.context), wanted, null);
            }
            checkFits(layer, call, dataType);
            bound = bound || parameters.isEmpty();
            return true;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Makes a layer with drawn parameters of this type, which the inputs may lack, as the ids of an embedding do. */
    private NativeLayer drawn(NativeContext context, DataType dataType, LayerCall call, long seed) {
        NativeLayer made = anotherLayer(context);
        try {
            call.initialize(made, seed);
            if (block.list().tellsType()) {
                return made;
            }
            NativeLayer converted = block.newLayer(context);
            try (NativeLayer before = made) {
                made = converted;
                copyAs(dataType, before, converted, context);
                return converted;
            }
        } catch (Throwable error) {
            made.close();
            throw error;
        }
    }

    /** Replaces values that heed has drawn by those that the user's initializers make. */
    private void drawParameters(NativeLayer made, NDManager manager, DataType dataType) {
        for (Parameter parameter : parameters.values()) {
            if (parameter.getInitializer() == null) {
                continue;
            }
            ByteBuffer name = ((LayerParameter) parameter).nativeName;
            try (NDManager drawing = manager.newSubManager();
                    NativeTensor drawn = made.parameterShape(name)) {
                Shape shape = shapeOf(drawn);
                NDArray values = parameter.getInitializer().initialize(drawing, shape, dataType);
                Objects.requireNonNull(values, () -> "the initializer of \"" + parameter.getName() + "\" gave null");
                made.setParameter(name, values.tensor());
            }
        }
    }

    /**
     * Replaces the layer by the new one. Keeps parameters that another thread has drawn in the meantime, and parameters
     * that were set one by one.
     */
    private void putUnlessThere(
            NativeLayer made, LayerContext wanted, NDManager manager, LayerCall call, DataType dataType) {
        long stamp = lock.writeLock();
        try {
            if (hasParameters()) {
                made.close();
                checkFits(layer, call, dataType);
            } else {
                copyTo(made);
                put(made, wanted, manager);
            }
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Sets the parameters of a layer to those of another one, converted to a type. */
    private void copyAs(DataType dataType, NativeLayer source, NativeLayer target, NativeContext context) {
        for (Parameter parameter : parameters.values()) {
            ByteBuffer name = ((LayerParameter) parameter).nativeName;
            try (NativeTensor before = source.parameter(name);
                    NativeTensor after = NativeTensor.create(context, dataType.code, ArrayData.dimsOf(before))) {
                after.copy(before);
                target.setParameter(name, after);
            }
        }
        checkTypes(target, dataType, "dataType is %s, but parameters can only be of FLOAT32, FLOAT16 or BFLOAT16");
    }

    /** Makes a layer in another context, with copies of the parameters that are set. Needs the write lock. */
    private NativeLayer copyIn(NativeContext wanted) {
        NativeLayer made = block.newLayer(wanted);
        try {
            copyTo(made);
            return made;
        } catch (Throwable error) {
            made.close();
            throw error;
        }
    }

    /** Copies the parameters that are set to another layer. */
    private void copyTo(NativeLayer target) {
        for (Parameter parameter : parameters.values()) {
            ByteBuffer name = ((LayerParameter) parameter).nativeName;
            try (NativeTensor value = valueIfThere(name)) {
                if (value != null) {
                    target.setParameter(name, value);
                }
            }
        }
    }

    private NativeTensor valueIfThere(ByteBuffer name) {
        try {
            return MessageSink.withoutMessages(() -> layer.parameter(name));
        } catch (IllegalStateException error) {
            return null;
        }
    }

    /** Replaces the layer. Needs the write lock. */
    private void put(NativeLayer made, LayerContext madeIn, NDManager madeFor) {
        layer.close();
        gradients.drop();
        children.forEach(ChildLayer::giveBack);
        changes++;
        parameters.values().forEach(parameter -> setTrainable(made, (LayerParameter) parameter));
        layer = made;
        layerContext = madeIn;
        owner = parameters.isEmpty() ? null : madeFor;
        bound = madeFor != null;
        leaveToCollectorIfEmpty(made);
        countMemory();
        if (closed) {
            made.close();
        }
    }

    /**
     * Counts the bytes of the parameters as native memory. Needs the write lock.
     */
    private void countMemory() {
        try {
            if (!parameters.isEmpty() && layer.isInitialized() == 1) {
                layer.countIfOpen(layer.saveMemory(null, 0));
            }
        } catch (IllegalStateException error) {
            // The layer was closed with its manager just now.
        }
    }

    /** A block without parameters holds little memory, so one that is never closed is not reported as a leak. */
    private void leaveToCollectorIfEmpty(NativeLayer made) {
        if (parameters.isEmpty()) {
            made.leaveToCollector();
        }
    }

    /**
     * Needs one of the locks. Also returns false if the parameters were closed with their manager, which may happen at
     * any time.
     */
    private boolean hasParameters() {
        checkNotClosed();
        try {
            return layer.isInitialized() == 1;
        } catch (IllegalStateException error) {
            checkNotClosed();
            return false;
        }
    }

    /** The layer's context. If it was closed with its manager, the context in which all blocks begin. */
    private LayerContext openLayerContext() {
        return layerContext.context.isOpen() ? layerContext : LayerContext.initial();
    }

    private NDManager snapshotOwner() {
        if (owner != null) {
            return owner;
        }
        synchronized (this) {
            checkNotClosed();
            NDManager last = own.isEmpty() ? null : own.get(own.size() - 1);
            if (last == null || !last.layerContext().isLike(layerContext)) {
                last = NDManager.newBaseManager(layerContext.device, layerContext.options);
                own.add(last);
            }
            return last;
        }
    }
}
