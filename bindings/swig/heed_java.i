// SPDX-License-Identifier: Apache-2.0
/*
 * How heed.i becomes Java. Proxies are package-private and extend NativeHandle, which counts the calls that use an
 * object, so that an object that is closed during a call is freed after it:
 *   - The object of a method is entered before the call and left after it (javaout). If it is closed, Java throws.
 *   - Other objects among the arguments are entered and left too (javain). A closed one gives the pointer -1, for which
 *     C throws, so that the arguments that were entered before are left as usual.
 * No typemap returns early once an array is pinned: exceptions are thrown in `ret`, after the arrays are released.
 */
%begin %{
/* For clock_gettime. */
#define _POSIX_C_SOURCE 199309L
#include <time.h>
%}

%rename("%(lowercamelcase)s", %$ismember, %$isfunction) "";
%rename("%(lowercamelcase)s", %$ismember, %$isvariable) "";
%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclassclassmodifiers="final class"

%{
/* Throws what io.heed.Errors makes of this thread's last error. */
static void throw_status(JNIEnv* jenv, heed_status status) {
  /* That of a Progress, which has stopped the call. */
  if ((*jenv)->ExceptionCheck(jenv)) return;
  jclass errors = (*jenv)->FindClass(jenv, "io/heed/Errors");
  const char* signature = "(ILjava/lang/String;)Ljava/lang/Throwable;";
  jmethodID of = errors ? (*jenv)->GetStaticMethodID(jenv, errors, "of", signature) : NULL;
  /* Only an interruption makes the wrapper's own reports stop a call. */
  char said[SAID_CAPACITY] = "the thread is interrupted, so the call was stopped";
  if (status != HEED_ERROR_CANCELLED) say(kJava, heed_last_error(), said, sizeof said);
  jstring sentence = of ? (*jenv)->NewStringUTF(jenv, said) : NULL;
  jobject error = sentence ? (*jenv)->CallStaticObjectMethod(jenv, errors, of, (jint)status, sentence) : NULL;
  if (!(*jenv)->ExceptionCheck(jenv) && error) (*jenv)->Throw(jenv, (jthrowable)error);
}

/* The messages of a thread's call, in their order. They are passed to Java when the call is over: until then it may have
 * pinned arrays, and Java must not be called. Without memory a message is dropped. */
typedef struct message {
  struct message* next;
  int64_t sink;
  int32_t level;
  char text[SAID_CAPACITY];
} message;
static __thread message *first_message, *last_message;
static __thread int passes_messages;

/* The write of a heed_logger. Drops messages about calls that the receiver of messages makes. */
static void report(void* sink, int32_t level, const char* text) {
  message* made = passes_messages || is_quiet ? NULL : (message*)malloc(sizeof *made);
  if (!made) return;
  made->next = NULL;
  made->sink = (int64_t)(intptr_t)sink;
  made->level = level;
  say(kJava, text, made->text, sizeof made->text);
  if (first_message)
    last_message->next = made;
  else
    first_message = made;
  last_message = made;
}

static void pass_message(JNIEnv* jenv, const message* each) {
  jclass sinks = (*jenv)->FindClass(jenv, "io/heed/MessageSink");
  jmethodID pass = sinks ? (*jenv)->GetStaticMethodID(jenv, sinks, "pass", "(JI[B)V") : NULL;
  jsize length = (jsize)strlen(each->text);
  jbyteArray bytes = pass ? (*jenv)->NewByteArray(jenv, length) : NULL;
  if (bytes) {
    (*jenv)->SetByteArrayRegion(jenv, bytes, 0, length, (const jbyte*)each->text);
    (*jenv)->CallStaticVoidMethod(jenv, sinks, pass, (jlong)each->sink, (jint)each->level, bytes);
  }
  (*jenv)->ExceptionClear(jenv);
  (*jenv)->DeleteLocalRef(jenv, bytes);
  (*jenv)->DeleteLocalRef(jenv, sinks);
}

/* The end of every call. The exception that it throws, if any, stays. A call that the receiver of messages makes leaves
 * the others to the call that they are about. */
static void pass_messages(JNIEnv* jenv) {
  if (passes_messages || !first_message) return;
  jthrowable thrown = (*jenv)->ExceptionOccurred(jenv);
  (*jenv)->ExceptionClear(jenv);
  passes_messages = 1;
  while (first_message) {
    message* each = first_message;
    first_message = each->next;
    pass_message(jenv, each);
    free(each);
  }
  passes_messages = 0;
  if (thrown) (*jenv)->Throw(jenv, thrown);
}

/* What stops a call: io.heed.StoppedCalls, which also passes the reports of a load to the program. */
static JavaVM* machine;
static jweak stopped_calls; /* so that the class can be unloaded */
static jmethodID is_interrupted, stops_load;

static JNIEnv* this_threads_environment(void) {
  JNIEnv* env = NULL;
  return (*machine)->GetEnv(machine, (void**)&env, JNI_VERSION_1_8) == JNI_OK ? env : NULL;
}

/* Whether the method returns true or throws. */
static int32_t asks(JNIEnv* env, jmethodID method, int64_t done, int64_t total) {
  jclass calls = (jclass)(*env)->NewLocalRef(env, stopped_calls);
  const jboolean answer = (*env)->CallStaticBooleanMethod(env, calls, method, (jlong)done, (jlong)total);
  const jboolean has_thrown = (*env)->ExceptionCheck(env);
  (*env)->DeleteLocalRef(env, calls);
  return answer || has_thrown;
}

/* The report of a heed_progress of a load. */
static int32_t report_of_load(void* unused, int64_t done, int64_t total) {
  JNIEnv* env = this_threads_environment();
  (void)unused;
  if (!env) return 0;
  return asks(env, stops_load, done, total);
}

/* That of a forward, which asks once in a millisecond: most calls are shorter, and Java has asked before it made them. */
static int32_t report_of_forward(void* unused, int64_t done, int64_t total) {
  static __thread int64_t next;
  struct timespec time;
  int64_t now = 0;
  JNIEnv* env = NULL;
  (void)unused;
  clock_gettime(CLOCK_MONOTONIC, &time);
  now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
  if (now < next) return 0;
  next = now + 1000000;
  env = this_threads_environment();
  return env ? asks(env, is_interrupted, done, total) : 0;
}

static heed_progress of_load = {sizeof(heed_progress), report_of_load, NULL};
static heed_progress of_forward = {sizeof(heed_progress), report_of_forward, NULL};

/* Called once, before the other two functions. */
static void find_stopped_calls(JNIEnv* jenv) {
  jclass found = (*jenv)->FindClass(jenv, "io/heed/StoppedCalls");
  stops_load = found ? (*jenv)->GetStaticMethodID(jenv, found, "stopsLoad", "(JJ)Z") : NULL;
  is_interrupted = stops_load ? (*jenv)->GetStaticMethodID(jenv, found, "isInterrupted", "(JJ)Z") : NULL;
  stopped_calls = is_interrupted ? (*jenv)->NewWeakGlobalRef(jenv, found) : NULL;
  (*jenv)->GetJavaVM(jenv, &machine);
}
/* Addresses for the members that are named progress. */
static int64_t progress_of_load(void) { return (int64_t)&of_load; }
static int64_t progress_of_forward(void) { return (int64_t)&of_forward; }

/* A Java array of the text's bytes. NULL means a bad index: returns null and throws what heed_last_error describes. */
static jbyteArray utf8_of(JNIEnv* jenv, const char* text) {
  jbyteArray bytes = NULL;
  if (!text) {
    throw_status(jenv, HEED_ERROR_INVALID_ARGUMENT);
    return NULL;
  }
  bytes = (*jenv)->NewByteArray(jenv, (jsize)strlen(text));
  if (bytes) (*jenv)->SetByteArrayRegion(jenv, bytes, 0, (jsize)strlen(text), (const jbyte*)text);
  return bytes;
}

/* One C function serves several Java arrays; each spelling picks the typemap of one of them. */
typedef jfloat java_float;
typedef jdouble java_double;
typedef jint java_int;
typedef jlong java_long;
typedef jbyte java_byte;
typedef jboolean java_boolean;
%}

/* ---- What comes back --------------------------------------------------------------------------------------------- */

%define %returned(TYPE, JNI, JTYPE, JSTYPE, BODY)
%typemap(jni) TYPE "JNI"
%typemap(jtype) TYPE "JTYPE"
%typemap(jstype) TYPE "JSTYPE"
%typemap(javaout) TYPE BODY
%enddef

%define %status(TYPE, JNI, JTYPE, JSTYPE, BODY)
%returned(TYPE, JNI, JTYPE, JSTYPE, BODY)
%typemap(out) TYPE ""
%typemap(ret) TYPE {
  if ($1 != HEED_OK) throw_status(jenv, $1);
  pass_messages(jenv);
}
%enddef

/* In a method the name swigCPtr, which $jnicall uses, refers to the local variable. A call that finds no native memory
 * is repeated after unreachable objects have been freed: a failed call changes nothing. */
%define %retrying(TYPE, JNI, JTYPE, JSTYPE, CALL)
%status(TYPE, JNI, JTYPE, JSTYPE, "{
    long swigCPtr = enter();
    try {
      for (int attempt = 0;; attempt++) {
        try { CALL; } catch (OutOfMemoryError error) { NativeMemory.freeForgotten(error, attempt); }
      }
    } finally { leave(); }
  }")
%enddef
%retrying(heed_status, void, void, void, $jnicall; return)
%status(static_status, void, void, void, "{
    for (int attempt = 0;; attempt++) {
      try { $jnicall; return; } catch (OutOfMemoryError error) { NativeMemory.freeForgotten(error, attempt); }
    }
  }")
%retrying(derived_tensor, jlong, long, NativeTensor, return NativeTensor.counted($jnicall))
%status(shape_tensor, jlong, long, NativeTensor,
        "{ long swigCPtr = enter(); try { return new NativeTensor($jnicall); } finally { leave(); } }")
%status(derived_layer, jlong, long, NativeLayer,
        "{ long swigCPtr = enter(); try { return new NativeLayer($jnicall); } finally { leave(); } }")
%define %allocating(TYPE, PROXY, NEW)
%status(TYPE, jlong, long, PROXY, "{
    for (int attempt = 0;; attempt++) {
      try { return NEW($jnicall); } catch (OutOfMemoryError error) { NativeMemory.freeForgotten(error, attempt); }
    }
  }")
%enddef
%allocating(allocated_tensor, NativeTensor, NativeTensor.counted)
%allocating(made_workspace, NativeWorkspace, NativeWorkspace.counted)
%allocating(made_cache, NativeCache, new NativeCache)
%allocating(made_gradients, NativeGradients, new NativeGradients)
%allocating(made_saved, NativeSaved, new NativeSaved)
/* A view also keeps alive the Java buffer that its tensor keeps alive, and counts as a user of its memory. */
%status(tensor_view, jlong, long, NativeTensor, "{
    long swigCPtr = enter();
    try { NativeTensor view = new NativeTensor($jnicall); view.share(this); return view; } finally { leave(); }
  }")
%status(status_size, jlong, long, long, "{ long swigCPtr = enter(); try { return $jnicall; } finally { leave(); } }")
%status(static_size, jlong, long, long, "{ return $jnicall; }")
%typemap(argout) size_t* num_bytes "$result = (jlong)*$1;"
%status(static_number, jdouble, double, double, "{ return $jnicall; }")
%typemap(argout) double* total, double* norm "$result = (jdouble)*$1;"
%status(made_optimizer, jlong, long, NativeOptimizer, "{ return new NativeOptimizer($jnicall); }")
%status(made_context, jlong, long, NativeContext, "{ return new NativeContext($jnicall); }")
%status(made_tensor, jlong, long, NativeTensor, "{ return new NativeTensor($jnicall); }")
%status(made_weights, jlong, long, NativeWeights, "{ return new NativeWeights($jnicall); }")
%status(made_layer, jlong, long, NativeLayer, "{ return new NativeLayer($jnicall); }")

%define %getter(TYPE, JNI, JTYPE, JSTYPE, CALL)
%returned(TYPE, JNI, JTYPE, JSTYPE, "{ long swigCPtr = enter(); try { return CALL; } finally { leave(); } }")
%typemap(ret) TYPE "pass_messages(jenv);"
%enddef
%getter(getter_int32, jint, int, int, $jnicall)
%typemap(out) getter_int32 "$result = (jint)$1;"
%getter(getter_int64, jlong, long, long, $jnicall)
%typemap(out) getter_int64 "$result = (jlong)$1;"
/* Those of a cache: -1 comes with an error. */
%typemap(ret) getter_int64 length, getter_int64 first, getter_int64 num_rows, getter_int64 free_pages {
  if ($1 < 0) throw_status(jenv, HEED_ERROR_INVALID_ARGUMENT);
  pass_messages(jenv);
}
%getter(getter_size, jlong, long, long, $jnicall)
%typemap(out) getter_size "$result = (jlong)$1;"
/* UTF-8, which JNI's own strings are not. Copied while the object that owns it is in use. */
%getter(getter_text, jbyteArray, byte[], String, NativeText.of($jnicall))
%typemap(out) getter_text "$result = utf8_of(jenv, $1);"
%returned(static_text, jstring, String, String, "{ return $jnicall; }")
%typemap(out) static_text "$result = (*jenv)->NewStringUTF(jenv, $1);"
/* The tensor's memory, null if it has none; valid as long as a tensor uses it. */
%getter(tensor_memory, jobject, java.nio.ByteBuffer, java.nio.ByteBuffer, $jnicall)
%typemap(out) tensor_memory
  "if ($1) $result = (*jenv)->NewDirectByteBuffer(jenv, $1, (jlong)heed_tensor_num_bytes(arg1));"

%typemap(in, numinputs=0) JNIEnv* jenv "$1 = jenv;"
%rename(findStoppedCalls) find_stopped_calls;
void find_stopped_calls(JNIEnv* jenv);
%rename(progressOfLoad) progress_of_load;
int64_t progress_of_load(void);
%rename(progressOfForward) progress_of_forward;
int64_t progress_of_forward(void);

/* ---- Structs ----------------------------------------------------------------------------------------------------- */

%define %struct_proxy(CTYPE, PROXY)
%typemap(javaclassmodifiers) struct CTYPE "final class"
%typemap(javabase) struct CTYPE "NativeStruct"
%typemap(javafinalize) struct CTYPE ""
%typemap(javabody) struct CTYPE "
"
%typemap(javadestruct, methodname="unused", methodmodifiers="private") struct CTYPE ""
%typemap(javaconstruct) struct CTYPE %{{ super($imcall, $imclassname::delete_ ## PROXY); }%}
%typemap(javain) struct CTYPE*, CTYPE* "NativeStruct.pointerOf($javainput)"
%enddef
%typemap(javainterfaces) struct heed_dot_product_attention_options, struct heed_additive_attention_options,
  struct heed_general_attention_options, struct heed_multi_head_attention_options "AttentionOptions.Members"
%typemap(javainterfaces) struct heed_encoder_layer_options, struct heed_decoder_layer_options
  "TransformerBlockOptions.Members"
%typemap(javainterfaces) struct heed_encoder_options, struct heed_decoder_options "TransformerStackOptions.Members"

/* The bytes of a struct, which begins with its size, as a direct buffer that is valid as long as the struct. */
%{
typedef void* struct_bytes;
static struct_bytes bytes_of_struct(int64_t address) { return (void*)address; }
%}
%rename(bytesOfStruct) bytes_of_struct;
%returned(struct_bytes, jobject, java.nio.ByteBuffer, java.nio.ByteBuffer, "{ return $jnicall; }")
%typemap(out) struct_bytes "$result = (*jenv)->NewDirectByteBuffer(jenv, $1, (jlong)*(size_t*)$1);"
struct_bytes bytes_of_struct(int64_t address);

/* A member that is a handle is set to its address, a long; 0 is NULL. The caller keeps the object from being freed until
 * the call ends (TensorMembers, CacheMembers). */
%define %member_handles(TYPES...)
%typemap(jni) TYPES "jlong"
%typemap(jtype) TYPES "long"
%typemap(jstype) TYPES "long"
%typemap(javain) TYPES "$javainput"
%typemap(javaout) TYPES "{ return $jnicall; }"
%enddef
%member_handles(heed_tensor*, heed_cache*, heed_layer*, heed_gradients*, heed_saved*)

/* A member that points to another struct takes its address, which the caller keeps valid; 0 is NULL. */
%define %pointed_to(CTYPE)
%typemap(jni) const CTYPE* "jlong"
%typemap(jtype) const CTYPE* "long"
%typemap(jstype) const CTYPE* "long"
%typemap(javain) const CTYPE* "$javainput"
%typemap(javaout) const CTYPE* "{ return $jnicall; }"
%enddef

/* The factors of rotary positions are a direct buffer in native order, which the struct keeps alive; null is NULL. */
%typemap(jni) const float* factors, const float* short_factors "jobject"
%typemap(jtype) const float* factors, const float* short_factors "java.nio.ByteBuffer"
%typemap(jstype) const float* factors, const float* short_factors "java.nio.ByteBuffer"
%typemap(javain) const float* factors, const float* short_factors "keep($javainput)"
%typemap(javaout) const float* factors, const float* short_factors "{ return $jnicall; }"
%typemap(in) const float* factors, const float* short_factors "$1 = $input ? (float*)(*jenv)->GetDirectBufferAddress(jenv, $input) : NULL;"
%typemap(out) const float* factors, const float* short_factors
  "if ($1) $result = (*jenv)->NewDirectByteBuffer(jenv, (void*)$1, (jlong)(arg1->num_factors * (int64_t)sizeof *$1));"

/* So is the list of rows that the layers of a cache see. */
%typemap(jni) const int64_t* layer_capacities "jobject"
%typemap(jtype) const int64_t* layer_capacities "java.nio.ByteBuffer"
%typemap(jstype) const int64_t* layer_capacities "java.nio.ByteBuffer"
%typemap(javain) const int64_t* layer_capacities "keep($javainput)"
%typemap(javaout) const int64_t* layer_capacities "{ return $jnicall; }"
%typemap(in) const int64_t* layer_capacities "$1 = $input ? (int64_t*)(*jenv)->GetDirectBufferAddress(jenv, $input) : NULL;"
%typemap(out) const int64_t* layer_capacities
  "if ($1) $result = (*jenv)->NewDirectByteBuffer(jenv, (void*)$1, (jlong)(arg1->num_layers * (int64_t)sizeof *$1));"

/* A member that is text takes a direct buffer (NativeText), which the struct keeps alive; null is NULL. */
%typemap(jni) const char* "jobject"
%typemap(jtype) const char* "java.nio.ByteBuffer"
%typemap(jstype) const char* "java.nio.ByteBuffer"
%typemap(javain) const char* "keep($javainput)"
%typemap(javaout) const char* "{ return $jnicall; }"
%typemap(in) const char* "$1 = $input ? (char*)(*jenv)->GetDirectBufferAddress(jenv, $input) : NULL;"
%typemap(freearg) const char* ""
%typemap(memberin) const char* "$1 = $input;"
%typemap(out) const char* "if ($1) $result = (*jenv)->NewDirectByteBuffer(jenv, (void*)$1, (jlong)strlen($1));"

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

%define %handle(CTYPE, PROXY, CLOSED)
%rename(PROXY) CTYPE;
%typemap(javaclassmodifiers) struct CTYPE "final class"
%typemap(javabase) struct CTYPE "NativeHandle"
%typemap(javafinalize) struct CTYPE ""
%typemap(javabody) struct CTYPE %{
  PROXY(long pointer) {
    super(pointer, $imclassname::delete_ ## PROXY);
  }

  @Override
  String closedSentence() {
    return CLOSED;
  }
%}
%typemap(javadestruct, methodname="close", methodmodifiers="public") struct CTYPE "{ closeOnce(); }"
%typemap(jni) struct CTYPE*, CTYPE* "jlong"
%typemap(jtype) struct CTYPE*, CTYPE* "long"
%typemap(jstype) struct CTYPE*, CTYPE* "PROXY"
%typemap(javain,
         pre="    long pointer_$javainput = NativeHandle.enter($javainput);",
         post="      NativeHandle.leave($javainput, pointer_$javainput);")
  struct CTYPE*, CTYPE* "pointer_$javainput"
%typemap(in) struct CTYPE*, CTYPE* {
  if ($input == -1) {
    SWIG_JavaThrowException(jenv, SWIG_JavaIllegalStateException, CLOSED);
    return $null;
  }
  $1 = *($1_ltype*)&$input;
}
%typemap(argout) CTYPE** result "*(CTYPE**)&$result = *$1;"
%enddef

/* A new object with its own memory, which is counted. */
%define %counting(CTYPE, PROXY)
%typemap(javacode) struct CTYPE %{
  static PROXY counted(long pointer) {
    PROXY made = new PROXY(pointer);
    made.count(made.numBytes());
    NativeMemory.limit();
    return made;
  }
%}
%enddef
%counting(heed_tensor, NativeTensor)
%counting(heed_workspace, NativeWorkspace)

%typemap(javacode) struct heed_context %{
  /* For calls of layers in this context. */
  final LayerCall.Pool calls = new LayerCall.Pool();
  /* For numbers in calls of arrays. */
  final NumberTensors.Pool numbers = new NumberTensors.Pool();
%}

/* ---- Arrays and text --------------------------------------------------------------------------------------------- */

/* A long[] of any length; heed refuses a rank above 8 without reading the dims. */
%typemap(jni) DIMS "jlongArray"
%typemap(jtype) DIMS "long[]"
%typemap(jstype) DIMS "long[]"
%typemap(javain) DIMS "$javainput"
%typemap(in) DIMS (jlong dims[8]) {
  if (!$input) {
    SWIG_JavaThrowException(jenv, SWIG_JavaNullPointerException, "dims");
    return $null;
  }
  $1 = (int32_t)(*jenv)->GetArrayLength(jenv, $input);
  (*jenv)->GetLongArrayRegion(jenv, $input, 0, $1 < 8 ? $1 : 8, dims);
  $2 = (int64_t*)dims;
}

/* An int[] or null; the façade has checked its length. */
%typemap(jni) const int32_t* axes "jintArray"
%typemap(jtype) const int32_t* axes "int[]"
%typemap(jstype) const int32_t* axes "int[]"
%typemap(javain) const int32_t* axes "$javainput"
%typemap(in) const int32_t* axes (jint axes[8]) {
  if ($input) {
    jsize length = (*jenv)->GetArrayLength(jenv, $input);
    (*jenv)->GetIntArrayRegion(jenv, $input, 0, length < 8 ? length : 8, axes);
    $1 = (int32_t*)axes;
  }
}

/* A long[] with as many entries as the dims have. */
%typemap(jni) const int64_t* strides "jlongArray"
%typemap(jtype) const int64_t* strides "long[]"
%typemap(jstype) const int64_t* strides "long[]"
%typemap(javain) const int64_t* strides "$javainput"
%typemap(in) const int64_t* strides (jlong strides[8]) {
  jsize length = (*jenv)->GetArrayLength(jenv, $input);
  (*jenv)->GetLongArrayRegion(jenv, $input, 0, length < 8 ? length : 8, strides);
  $1 = (int64_t*)strides;
}

/* A long[] of any length, which is copied: the call may have to copy pages of a cache. */
%define %numbers(NAME)
%typemap(jni) (const int64_t* NAME, int64_t num_ ## NAME) "jlongArray"
%typemap(jtype) (const int64_t* NAME, int64_t num_ ## NAME) "long[]"
%typemap(jstype) (const int64_t* NAME, int64_t num_ ## NAME) "long[]"
%typemap(javain) (const int64_t* NAME, int64_t num_ ## NAME) "$javainput"
%typemap(in) (const int64_t* NAME, int64_t num_ ## NAME) {
  if (!$input) {
    SWIG_JavaThrowException(jenv, SWIG_JavaNullPointerException, "NAME");
    return $null;
  }
  $2 = (*jenv)->GetArrayLength(jenv, $input);
  $1 = (int64_t*)(*jenv)->GetLongArrayElements(jenv, $input, NULL);
  if (!$1) return $null;
}
%typemap(freearg) (const int64_t* NAME, int64_t num_ ## NAME)
  "(*jenv)->ReleaseLongArrayElements(jenv, $input, (jlong*)$1, JNI_ABORT);"
%enddef
%numbers(sources)
%numbers(kept)

/* The pointers of objects that the façade has entered. */
%define %pointers(TYPE, NAME)
%typemap(jni) (TYPE NAME, int64_t num_ ## NAME) "jlongArray"
%typemap(jtype) (TYPE NAME, int64_t num_ ## NAME) "long[]"
%typemap(jstype) (TYPE NAME, int64_t num_ ## NAME) "long[]"
%typemap(javain) (TYPE NAME, int64_t num_ ## NAME) "$javainput"
%typemap(in) (TYPE NAME, int64_t num_ ## NAME) {
  if (!$input) {
    SWIG_JavaThrowException(jenv, SWIG_JavaNullPointerException, "NAME");
    return $null;
  }
  $2 = (*jenv)->GetArrayLength(jenv, $input);
  $1 = ($1_ltype)(*jenv)->GetLongArrayElements(jenv, $input, NULL);
  if (!$1) return $null;
}
%typemap(freearg) (TYPE NAME, int64_t num_ ## NAME)
  "(*jenv)->ReleaseLongArrayElements(jenv, $input, (jlong*)$1, JNI_ABORT);"
%enddef
%pointers(const heed_tensor* const*, tensors)
%pointers(heed_gradients* const*, sets)

/* An array is pinned while it is copied, which is the fastest way for every size. Calls that compute pin nothing. */
%define %pinned(TYPE, POINTER, NAME, RELEASE)
%typemap(jni) (POINTER NAME, size_t num_bytes) "j""TYPE""Array"
%typemap(jtype) (POINTER NAME, size_t num_bytes) "TYPE[]"
%typemap(jstype) (POINTER NAME, size_t num_bytes) "TYPE[]"
%typemap(javain) (POINTER NAME, size_t num_bytes) "$javainput"
%typemap(in) (POINTER NAME, size_t num_bytes) {
  if (!$input) {
    SWIG_JavaThrowException(jenv, SWIG_JavaNullPointerException, "NAME");
    return $null;
  }
  $2 = (size_t)(*jenv)->GetArrayLength(jenv, $input) * sizeof *$1;
  $1 = ($1_ltype)(*jenv)->GetPrimitiveArrayCritical(jenv, $input, NULL);
  if (!$1) return $null;
}
%typemap(freearg) (POINTER NAME, size_t num_bytes)
  "(*jenv)->ReleasePrimitiveArrayCritical(jenv, $input, (void*)$1, RELEASE);"
%enddef

%define %java_array(TYPE)
%pinned(TYPE, const java_ ## TYPE*, source, JNI_ABORT)
%pinned(TYPE, java_ ## TYPE*, destination, 0)
%enddef
%java_array(float)
%java_array(double)
%java_array(int)
%java_array(long)
%java_array(byte)
%java_array(boolean)

/* Memory of a direct buffer, from its first byte, ignoring its position; null is NULL. */
%define %direct(PARAMETER)
%typemap(jni) PARAMETER "jobject"
%typemap(jtype) PARAMETER "java.nio.Buffer"
%typemap(jstype) PARAMETER "java.nio.Buffer"
%typemap(javain) PARAMETER "$javainput"
%typemap(in) PARAMETER "$1 = $input ? (*jenv)->GetDirectBufferAddress(jenv, $input) : NULL;"
%typemap(freearg) PARAMETER ""
%enddef
%direct(const void* source)
%direct(void* destination)
%direct(void* memory)
%direct(const void* data)
%direct(char* text)
%apply long long { size_t }

/* The address of a direct buffer, for a member that points to an array. */
%{
static int64_t address_of(void* memory) { return (int64_t)memory; }
%}
%rename(addressOf) address_of;
int64_t address_of(void* memory);

/* Text goes in as a direct buffer of UTF-8 with its terminating zero (NativeText), since JNI's own strings are not
 * UTF-8; null is NULL. */
%typemap(jni) const char* path, const char* name, const char* prefix "jobject"
%typemap(jtype) const char* path, const char* name, const char* prefix "java.nio.ByteBuffer"
%typemap(jstype) const char* path, const char* name, const char* prefix "java.nio.ByteBuffer"
/* Of a struct's member, which comes first, the struct keeps the buffer; of an argument the caller does. */
%typemap(javain) const char* path, const char* name, const char* prefix "keep($javainput)"
%define %texts_are_arguments
%typemap(javain) const char* path, const char* name, const char* prefix "$javainput"
%enddef
%typemap(in) const char* path, const char* name, const char* prefix {
  $1 = $input ? (char*)(*jenv)->GetDirectBufferAddress(jenv, $input) : NULL;
}
%typemap(freearg) const char* path, const char* name, const char* prefix ""
