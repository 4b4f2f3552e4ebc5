// SPDX-License-Identifier: Apache-2.0
/*
 * How heed.i becomes C#. Proxies are internal and hold their object in a SafeHandle. The runtime keeps the SafeHandle
 * alive during every call: an object that is disposed during a call is freed after it. A function returns its status,
 * and its value if it has one, as a small struct with a method Check() that throws. So no native code calls back into
 * .NET, which ahead-of-time compilers would refuse. If another thread disposes an object just before a call, the runtime
 * throws; each call replaces that exception by one with heed's own sentence (Errors.Closed).
 */
%begin %{
/* SWIG writes functions without parameters as f(). */
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
%}

%rename("%(camelcase)s", %$ismember, %$isfunction) "";
%rename("%(camelcase)s", %$isfunction) "";
%rename("%(camelcase)s", %$ismember, %$isvariable) "";
%pragma(csharp) moduleclassmodifiers="internal static unsafe class"
%pragma(csharp) imclassclassmodifiers="internal static unsafe class"

%apply unsigned long long { size_t }

/* ---- What comes back --------------------------------------------------------------------------------------------- */

%define %closed(BODY)
"{
    try { BODY; }
    catch (global::System.ObjectDisposedException error) { throw Errors.Closed(error); }
  }"
%enddef

/* A call that finds no native memory is repeated after unreachable objects are freed: a failed call changes nothing. */
%define %retrying(BODY)
"{
    for (int attempt = 0;; attempt++) {
      try { BODY; }
      catch (global::System.ObjectDisposedException error) { throw Errors.Closed(error); }
      catch (global::System.OutOfMemoryException) { if (!ForgottenMemory.FreeForgotten(attempt)) throw; }
    }
  }"
%enddef

%typemap(ctype) heed_status "int32_t"
%typemap(imtype) heed_status "int"
%typemap(cstype) heed_status "void"
%typemap(out) heed_status "$result = (int32_t)$1;"
%typemap(csout, excode="") heed_status %retrying(Errors.Check($imcall); return)
%apply heed_status { static_status }

%{
typedef struct { int32_t status; void* value; } pointer_result;
%}
%define %status(TYPE, CSTYPE)
%typemap(ctype) TYPE "pointer_result"
%typemap(imtype) TYPE "PointerResult"
%typemap(cstype) TYPE "CSTYPE"
%typemap(out) TYPE "$result.status = (int32_t)$1;"
%typemap(csout, excode="") TYPE %closed(return new CSTYPE($imcall.Check()))
%enddef
%define %allocating(TYPE, CSTYPE)
%status(TYPE, CSTYPE)
%typemap(csout, excode="") TYPE %retrying(return new CSTYPE($imcall.Check()))
%enddef
%allocating(made_workspace, NativeWorkspace)
%allocating(made_cache, NativeCache)
%allocating(allocated_tensor, NativeTensor)
%allocating(derived_tensor, NativeTensor)
%allocating(made_gradients, NativeGradients)
%allocating(made_saved, NativeSaved)
%status(made_optimizer, NativeOptimizer)
%status(made_context, NativeContext)
%status(made_tensor, NativeTensor)
%status(shape_tensor, NativeTensor)
%status(derived_layer, NativeLayer)
%status(made_weights, NativeWeights)
%status(made_layer, NativeLayer)

/* A view also keeps the memory that its tensor keeps, from before the call on: the tensor may be disposed at any time. */
%status(tensor_view, NativeTensor)
%typemap(csout, excode="") tensor_view
"{
    var kept = SafeHandle.ShareKept();
    try { return new NativeTensor($imcall.Check(), kept); }
    catch (global::System.ObjectDisposedException error) { throw Errors.Closed(error); }
    finally { SharedMemory.Release(kept); }
  }"

%{
typedef struct { int32_t status; int64_t value; } int64_result;
%}
%typemap(ctype) status_size "int64_result"
%typemap(imtype) status_size "Int64Result"
%typemap(cstype) status_size "long"
%typemap(out) status_size "$result.status = (int32_t)$1;"
%typemap(csout, excode="") status_size %closed(return $imcall.Check())
%apply status_size { static_size }
%typemap(argout) size_t* num_bytes "$result.value = (int64_t)*$1;"

%{
typedef struct { int32_t status; double value; } double_result;
%}
%typemap(ctype) static_number "double_result"
%typemap(imtype) static_number "DoubleResult"
%typemap(cstype) static_number "double"
%typemap(out) static_number "$result.status = (int32_t)$1;"
%typemap(csout, excode="") static_number %closed(return $imcall.Check())
%typemap(argout) double* total, double* norm "$result.value = *$1;"

%define %getter(TYPE, CTYPE, CSTYPE)
%typemap(ctype) TYPE "CTYPE"
%typemap(imtype) TYPE "CSTYPE"
%typemap(cstype) TYPE "CSTYPE"
%typemap(out) TYPE "$result = (CTYPE)$1;"
%typemap(csout, excode="") TYPE %closed(return $imcall)
%enddef
%getter(getter_int32, int32_t, int)
%getter(getter_int64, int64_t, long)
%getter(getter_size, int64_t, long)
%getter(tensor_memory, void*, void*)

/* Text is read while the object that owns it is held. NULL means a bad index; heed_last_error describes it. */
%typemap(ctype) getter_text, static_text "const char*"
%typemap(imtype) getter_text, static_text "byte*"
%typemap(cstype) getter_text, static_text "string"
%typemap(out) getter_text, static_text "$result = $1;"
%typemap(csout, excode="") getter_text
"{
    bool isHeld = false;
    try {
      SafeHandle.DangerousAddRef(ref isHeld);
      byte* text = $imcall;
      if (text == null) Errors.Check((int)Status.InvalidArgument);
      return NativeText.ToManaged(text);
    }
    catch (global::System.ObjectDisposedException error) { throw Errors.Closed(error); }
    finally { if (isHeld) SafeHandle.DangerousRelease(); }
  }"
%typemap(csout, excode="") static_text "{ return NativeText.ToManaged($imcall); }"

/* ---- Arrays and text --------------------------------------------------------------------------------------------- */

/* Memory that the façade has pinned: elements, dims, or UTF-8 with its terminating zero; null is NULL. */
%define %memory(CTYPE, CSTYPE)
%typemap(ctype) CTYPE "CTYPE"
%typemap(imtype) CTYPE "CSTYPE"
%typemap(cstype) CTYPE "CSTYPE"
%typemap(csin) CTYPE "$csinput"
%typemap(in) CTYPE "$1 = ($1_ltype)$input;"
%typemap(freearg) CTYPE ""
%enddef
%memory(const void*, void*)
%memory(void*, void*)
%memory(const int64_t*, long*)
%memory(const int32_t*, int*)
%memory(char*, byte*)
%memory(const char*, byte*)
%memory(const float*, float*)
/* The pointers of objects that the façade holds. */
%memory(const heed_tensor* const*, global::System.IntPtr*)
%memory(heed_gradients* const*, global::System.IntPtr*)

/* ---- Structs ----------------------------------------------------------------------------------------------------- */

%define %struct_proxy(CTYPE, PROXY)
%typemap(csclassmodifiers) struct CTYPE "internal sealed unsafe class"
%typemap(csbase) struct CTYPE "NativeStruct"
%typemap(csbody) struct CTYPE %{
  private global::System.IntPtr swigCPtr { get { return Pointer; } }
  private protected override void Destroy(global::System.IntPtr pointer) { $imclassname.delete_ ## PROXY(pointer); }
%}
%typemap(csdispose) struct CTYPE ""
%typemap(csdisposing, methodname="Unused", methodmodifiers="private", parameters="") struct CTYPE ""
%typemap(csconstruct, excode="") struct CTYPE ": base($imcall) { }"
%typemap(imtype) struct CTYPE*, CTYPE* "global::System.IntPtr"
%typemap(csin) struct CTYPE*, CTYPE* "NativeStruct.PointerOf($csinput)"
%enddef
%typemap(csinterfaces) struct heed_dot_product_attention_options, struct heed_additive_attention_options,
  struct heed_general_attention_options, struct heed_multi_head_attention_options "AttentionOptions.IMembers"
%typemap(csinterfaces) struct heed_encoder_layer_options, struct heed_decoder_layer_options "TransformerBlockOptions.IMembers"
%typemap(csinterfaces) struct heed_encoder_options,
  struct heed_decoder_options "TransformerStackOptions.IMembers"

/* A member that is a handle takes the pointer of one that the caller holds (TensorMembers); zero is NULL. */
%typemap(imtype) heed_tensor*, heed_cache*, heed_layer*, heed_gradients*, heed_saved* "global::System.IntPtr"
%typemap(cstype) heed_tensor*, heed_cache*, heed_layer*, heed_gradients*, heed_saved* "global::System.IntPtr"
%typemap(csin) heed_tensor*, heed_cache*, heed_layer*, heed_gradients*, heed_saved* "$csinput"
%typemap(csvarout, excode="") heed_tensor*, heed_cache*, heed_layer*, heed_gradients*, heed_saved*, const char*, const float*, const int64_t* layer_capacities "
    get { return $imcall; }"

/* A member that points to another struct takes its address, which the caller keeps valid; zero is NULL. */
%define %pointed_to(CTYPE)
%typemap(imtype) const CTYPE* "global::System.IntPtr"
%typemap(cstype) const CTYPE* "global::System.IntPtr"
%typemap(csin) const CTYPE* "$csinput"
%typemap(csout, excode="") const CTYPE* "{ return $imcall; }"
%typemap(csvarout, excode="") const CTYPE* "
    get { return $imcall; }"
%enddef

/* A member that is text, or an array of numbers, points to memory that the façade has pinned. */
%typemap(memberin) const char* "$1 = $input;"
%typemap(out) const char*, const float*, const int64_t* layer_capacities "$result = $1;"
%typemap(csout, excode="") const float*, const int64_t* layer_capacities "{ return $imcall; }"

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

%define %handle(CTYPE, PROXY, CLOSED)
%rename(PROXY) CTYPE;
%typemap(csclassmodifiers) struct CTYPE "internal sealed unsafe class"
%typemap(csinterfaces) struct CTYPE "global::System.IDisposable"
%typemap(imtype) struct CTYPE*, CTYPE* "NativeHandle"
%typemap(cstype) struct CTYPE*, CTYPE* "PROXY"
%typemap(csin) struct CTYPE*, CTYPE* "PROXY.getCPtr($csinput)"
%typemap(csbody) struct CTYPE %{
  private sealed class Handle : NativeHandle {
    internal Handle(global::System.IntPtr pointer, SharedMemory kept) : base(pointer, kept) { }
    protected override void Destroy() { $imclassname.Free ## PROXY(handle); }
  }

  internal PROXY(global::System.IntPtr pointer, SharedMemory kept = null) { SafeHandle = new Handle(pointer, kept); }
  internal NativeHandle SafeHandle { get; }
  /* What every call passes. */
  private NativeHandle swigCPtr { get { return SafeHandle.Open; } }
  internal static NativeHandle getCPtr(PROXY proxy) { return proxy == null ? NativeHandle.Null : proxy.swigCPtr; }
  internal const string ClosedSentence = CLOSED;
%}
%typemap(csdispose) struct CTYPE "  public void Dispose() { SafeHandle.Dispose(); }"
%typemap(csdisposing, methodname="Unused", methodmodifiers="private", parameters="") struct CTYPE ""
%typemap(in) struct CTYPE*, CTYPE* "$1 = ($1_ltype)$input;"
%typemap(argout) CTYPE** result "$result.value = *$1;"
%enddef

%pragma(csharp) imclasscode=%{
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeContext")]
  internal static extern void FreeNativeContext(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeTensor")]
  internal static extern void FreeNativeTensor(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeLayer")]
  internal static extern void FreeNativeLayer(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeWeights")]
  internal static extern void FreeNativeWeights(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeWorkspace")]
  internal static extern void FreeNativeWorkspace(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeCache")]
  internal static extern void FreeNativeCache(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeGradients")]
  internal static extern void FreeNativeGradients(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeOptimizer")]
  internal static extern void FreeNativeOptimizer(global::System.IntPtr pointer);
  [global::System.Runtime.InteropServices.DllImport("heed_csharp", EntryPoint="CSharp_Heed_delete_NativeSaved")]
  internal static extern void FreeNativeSaved(global::System.IntPtr pointer);
%}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

%{
typedef void (*message_receiver)(int64_t sink, int32_t level, const char* text);
/* The same function in every call of report_to. */
static message_receiver receiver;
static void report_to(void* function) { __atomic_store_n(&receiver, (message_receiver)(intptr_t)function, __ATOMIC_RELEASE); }

/* The write of a heed_logger, in C#'s words. */
static void report(void* sink, int32_t level, const char* text) {
  char said[SAID_CAPACITY];
  if (is_quiet) return;
  say(kCsharp, text, said, sizeof said);
  __atomic_load_n(&receiver, __ATOMIC_ACQUIRE)((int64_t)(intptr_t)sink, level, said);
}
%}
void report_to(void* function);

/* ---- The last error ---------------------------------------------------------------------------------------------- */

%{
/* This thread's last error, in C#'s words. */
static void said_error(char* text, size_t capacity) { say(kCsharp, heed_last_error(), text, capacity); }
%}
void said_error(char* text, size_t capacity);
